/**
 * The sets of series that samples hold, as this process remembers them. Series and sets that nobody has sent before are made in one
 * transaction for a message, as long as the application may have more series.
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { TooManySeries } from '../errors.ts'
import * as store from '../store/numbers.ts'
import { type ApplicationSets, findSetsOf, keyOf, loadApplicationSets, missingSets } from './application-sets.ts'
import { fieldOf, namesOf } from './field.ts'

export interface SeriesSets {
  /**
   * The sets that hold these fields, one after the other in their order: mostly one; several where the fields are many, and one
   * for each field where the application has too many sets. Without a promise when they are remembered.
   */
  setsOf(application: store.Application, fields: string[]): store.SeriesSet[] | Promise<store.SeriesSet[]>
  /** For all samples of a message; what is missing is made together. */
  allSetsOf(application: store.Application, lists: string[][]): Promise<store.SeriesSet[][]>
  seriesOf(application: store.Application): Promise<store.Series[]>
  /** The series of sets by set id. A set that does not exist any more is missing. */
  seriesIdsOf(setIds: Iterable<number>): Promise<Map<number, number[]>>
  /** The fields of a set that this process has written with. */
  fieldsOf(set: store.SeriesSet): string[]
  forgetApplication(application: store.Application): void
  forgetAllSets(): void
}

interface Memory {
  db: Db
  seriesMax: number
  applications: Map<string, Promise<ApplicationSets> | ApplicationSets>
  seriesIds: Map<number, number[]>
  fields: WeakMap<store.SeriesSet, string[]>
}

/** For so long a full application is refused without asking the database. */
const roomKnownMs = 10_000

export function createSeriesSets(db: Db, { seriesMax }: { seriesMax: number }): SeriesSets {
  const memory: Memory = {
    db,
    seriesMax,
    applications: new Map(),
    seriesIds: new Map(),
    fields: new WeakMap(),
  }
  const { applications, seriesIds, fields } = memory
  const checkRoom = roomCheck(seriesMax)
  const allSetsOf = async (application: store.Application, lists: string[][]) => {
    // No application has room for these, whatever it has already: neither memory nor the database is asked.
    for (const own of lists) checkRoom(application, own, seriesMax)
    return await findOrMakeSets(memory, application, lists)
  }
  return {
    setsOf(application, own) {
      checkRoom(application, own, seriesMax)
      const known = applications.get(applicationKey(application))
      const found = known && !(known instanceof Promise) ? findSetsOf(known, own) : undefined
      return found ?? allSetsOf(application, [own]).then(([sets]) => sets!)
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
    forgetApplication: (application) => void applications.delete(applicationKey(application)),
    forgetAllSets() {
      applications.clear()
      seriesIds.clear()
    },
  }
}

const applicationKey = ({ tenantId, applicationName }: store.Application) => `${tenantId}\n${applicationName}`

function remember({ seriesIds, fields }: Memory, set: store.SeriesSet, own: string[]) {
  seriesIds.set(set.setId, set.seriesIds)
  fields.set(set, own)
}

/** Loaded once, whoever asks meanwhile; an attempt that fails is not remembered. */
function applicationOf(memory: Memory, application: store.Application): Promise<ApplicationSets> | ApplicationSets {
  const { applications } = memory
  const key = applicationKey(application)
  const found = applications.get(key)
  if (found) return found
  const loading: Promise<ApplicationSets> = loadApplicationSets(memory.db, application, (set, own) =>
    remember(memory, set, own),
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

async function findOrMakeSets(memory: Memory, application: store.Application, lists: string[][]) {
  const known = await applicationOf(memory, application)
  const unknown = lists.filter((own) => !findSetsOf(known, own))
  if (unknown.length > 0) {
    await makeSeries(memory, application, known, [...new Set(unknown.flat())])
    await makeSets(memory, application, known, unknown)
  }
  return lists.map((own) => findSetsOf(known, own, true)!)
}

const roomCheck =
  (limit: number) =>
  ({ applicationName }: store.Application, wanted: string[], room: number) => {
    if (wanted.length > room) throw TooManySeries({ applicationName, limit, series: namesOf(wanted[room]!).join('.') })
  }

async function makeSeries(
  { db, seriesMax }: Memory,
  application: store.Application,
  known: ApplicationSets,
  fields: string[],
) {
  const isMissing = (field: string) => !known.series.has(field)
  const missing = fields.filter(isMissing)
  if (missing.length === 0) return
  const learn = (series: store.Series[]) => {
    for (const { seriesId, name, valueName } of series) known.series.set(fieldOf(name, valueName), seriesId)
  }
  const checkRoom = roomCheck(seriesMax)
  if (known.roomKnownUntil > monotonicMs()) checkRoom(application, missing, known.room)
  if (missing.length > seriesMax) checkRoom(application, missing, Math.max(0, seriesMax - known.series.size))
  const asNames = missing.map((field) => {
    const [name, valueName] = namesOf(field)
    return { name, valueName }
  })
  const made = await db.tx(async (sql) => {
    await store.lockApplication(sql, application)
    // Another node may have made them.
    learn(await store.findTheseSeries(sql, application, asNames))
    const wanted = missing.filter(isMissing)
    if (wanted.length === 0) return []
    const room = Math.max(0, seriesMax - (await store.countSeries(sql, application)))
    if (wanted.length > room) Object.assign(known, { room, roomKnownUntil: monotonicMs() + roomKnownMs })
    checkRoom(application, wanted, room)
    await store.insertSeries(sql, application, asNames)
    return await store.findTheseSeries(sql, application, asNames)
  })
  learn(made)
}

async function makeSets(memory: Memory, application: store.Application, known: ApplicationSets, lists: string[][]) {
  const missing = missingSets(known, lists)
  if (missing.length === 0) return
  const wanted = missing.map((own) => own.map((field) => known.series.get(field)!))
  const made = await store.insertSets(memory.db.sql, application, wanted)
  const bySeries = new Map(made.map((set) => [set.seriesIds.join(), set]))
  for (const [index, own] of missing.entries()) {
    const set = bySeries.get(wanted[index]!.join())!
    remember(memory, set, own)
    known.sets.set(keyOf(own), [set])
  }
}
