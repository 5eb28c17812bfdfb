/**
 * Caches the sets of series that occur in samples. Unknown series and sets of a message are created in one transaction, up to the limit of
 * the application.
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { TooManySeries } from '../errors.ts'
import * as store from '../store/numbers.ts'
import { type ApplicationSets, findSetsOf, keyOf, loadApplicationSets, missingSets } from './application-sets.ts'
import { fieldOf, namesOf } from './field.ts'

export interface SeriesSets {
  /**
   * Returns the sets that contain these fields in order: usually one set, several if there are many fields, or one for each field if the
   * application has too many sets. The result is not a promise if the sets are cached.
   */
  setsOf(application: store.Application, fields: string[]): store.SeriesSet[] | Promise<store.SeriesSet[]>
  /** Returns the sets of each sample in a message. Missing sets are created together. */
  allSetsOf(application: store.Application, lists: string[][]): Promise<store.SeriesSet[][]>
  seriesOf(application: store.Application): Promise<store.Series[]>
  /** Returns series ids by set id. Sets that no longer exist are missing. */
  seriesIdsOf(setIds: Iterable<number>): Promise<Map<number, number[]>>
  /** Returns the fields of a set. This node must have used the set before. */
  fieldsOf(set: store.SeriesSet): string[]
  invalidateApplication(application: store.Application): void
  invalidateAllSets(): void
}

interface SetCache {
  db: Db
  seriesMax: number
  applications: Map<string, Promise<ApplicationSets> | ApplicationSets>
  seriesIds: Map<number, number[]>
  fields: WeakMap<store.SeriesSet, string[]>
}

/** For this time after an application reached its limit, samples that need further series are rejected without a query. */
const remainingValidMs = 10_000

export function createSeriesSets(db: Db, { seriesMax }: { seriesMax: number }): SeriesSets {
  const cache: SetCache = {
    db,
    seriesMax,
    applications: new Map(),
    seriesIds: new Map(),
    fields: new WeakMap(),
  }
  const { applications, seriesIds, fields } = cache
  const rejectAboveLimit = createSeriesLimit(seriesMax)
  const allSetsOf = async (application: store.Application, lists: string[][]) => {
    // A sample with more fields than an application may have series is rejected without a query.
    for (const fieldsOfSample of lists) rejectAboveLimit(application, fieldsOfSample, seriesMax)
    return await findOrCreateSets(cache, application, lists)
  }
  return {
    setsOf(application, fieldsOfSample) {
      rejectAboveLimit(application, fieldsOfSample, seriesMax)
      const cached = applications.get(applicationKey(application))
      const sets = cached && !(cached instanceof Promise) ? findSetsOf(cached, fieldsOfSample) : undefined
      return sets ?? allSetsOf(application, [fieldsOfSample]).then(([sets]) => sets!)
    },
    allSetsOf,
    seriesOf: (application) => store.findSeries(db.sql, application),
    async seriesIdsOf(setIds) {
      const unknown = [...new Set(setIds)].filter((setId) => !seriesIds.has(setId))
      if (unknown.length > 0)
        for (const { setId, seriesIds: own } of await store.findSetsByNumber(db.sql, unknown)) seriesIds.set(setId, own)
      return seriesIds
    },
    fieldsOf: (set) => fields.get(set)!,
    invalidateApplication: (application) => void applications.delete(applicationKey(application)),
    invalidateAllSets() {
      applications.clear()
      seriesIds.clear()
    },
  }
}

const applicationKey = ({ tenantId, applicationName }: store.Application) => `${tenantId}\n${applicationName}`

function addToSetCache({ seriesIds, fields }: SetCache, set: store.SeriesSet, setFields: string[]) {
  seriesIds.set(set.setId, set.seriesIds)
  fields.set(set, setFields)
}

/** Loads the sets of an application. Concurrent callers share the load. A failed attempt is not cached. */
function applicationOf(cache: SetCache, application: store.Application): Promise<ApplicationSets> | ApplicationSets {
  const { applications } = cache
  const key = applicationKey(application)
  const cached = applications.get(key)
  if (cached) return cached
  const loading: Promise<ApplicationSets> = loadApplicationSets(cache.db, application, (set, own) =>
    addToSetCache(cache, set, own),
  ).then(
    (known) => {
      if (applications.get(key) === loading) applications.set(key, known)
      return known
    },
    (error) => {
      if (applications.get(key) === loading) applications.delete(key)
      throw error
    },
  )
  applications.set(key, loading)
  return loading
}

async function findOrCreateSets(cache: SetCache, application: store.Application, lists: string[][]) {
  const applicationSets = await applicationOf(cache, application)
  const unknown = lists.filter((own) => !findSetsOf(applicationSets, own))
  if (unknown.length > 0) {
    await createSeries(cache, application, applicationSets, [...new Set(unknown.flat())])
    await createSets(cache, application, applicationSets, unknown)
  }
  return lists.map((own) => findSetsOf(applicationSets, own, true)!)
}

const createSeriesLimit =
  (limit: number) =>
  ({ applicationName }: store.Application, names: string[], room: number) => {
    if (names.length > room) throw TooManySeries({ applicationName, limit, series: namesOf(names[room]!).join('.') })
  }

async function createSeries(
  { db, seriesMax }: SetCache,
  application: store.Application,
  known: ApplicationSets,
  fields: string[],
) {
  const isMissing = (field: string) => !known.series.has(field)
  const missing = fields.filter(isMissing)
  if (missing.length === 0) return
  const addToCache = (series: store.Series[]) => {
    for (const { seriesId, name, valueName } of series) known.series.set(fieldOf(name, valueName), seriesId)
  }
  const checkRoom = createSeriesLimit(seriesMax)
  if (known.remainingValidUntil > monotonicMs()) checkRoom(application, missing, known.remainingSeries)
  if (missing.length > seriesMax) checkRoom(application, missing, Math.max(0, seriesMax - known.series.size))
  const missingNames = missing.map((field) => {
    const [name, valueName] = namesOf(field)
    return { name, valueName }
  })
  const parts = partsOf(missingNames)
  const created = await db.tx(async (sql) => {
    await store.lockApplication(sql, application)
    // Another node may have created the missing series.
    for (const part of parts) addToCache(await store.findSeriesByNames(sql, application, part))
    const stillMissing = missing.filter(isMissing)
    if (stillMissing.length === 0) return []
    const room = Math.max(0, seriesMax - (await store.countSeries(sql, application)))
    if (stillMissing.length > room) {
      known.remainingSeries = room
      known.remainingValidUntil = monotonicMs() + remainingValidMs
    }
    checkRoom(application, stillMissing, room)
    const found: store.Series[][] = []
    for (const part of parts) {
      await store.insertSeries(sql, application, part)
      found.push(await store.findSeriesByNames(sql, application, part))
    }
    return found
  })
  for (const part of created) addToCache(part)
}

/** Maximum number of names in one statement, because a statement blocks other requests while it is built. */
const namesMax = 5000

function partsOf<T>(names: T[]): T[][] {
  const parts: T[][] = []
  for (let from = 0; from < names.length; from += namesMax) parts.push(names.slice(from, from + namesMax))
  return parts
}

async function createSets(cache: SetCache, application: store.Application, known: ApplicationSets, lists: string[][]) {
  const missing = missingSets(known, lists)
  if (missing.length === 0) return
  const seriesIdLists = missing.map((own) => own.map((field) => known.series.get(field)!))
  const created = await store.insertSets(cache.db.sql, application, seriesIdLists)
  const bySeries = new Map(created.map((set) => [set.seriesIds.join(), set]))
  for (const [index, own] of missing.entries()) {
    const set = bySeries.get(seriesIdLists[index]!.join())!
    addToSetCache(cache, set, own)
    known.sets.set(keyOf(own), [set])
  }
}
