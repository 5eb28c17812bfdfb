/**
 * What this process knows of numbers that stand for names. An application's series and sets are read once and only ever grow;
 * endpoints are remembered as long as there is room.
 */
import { monotonicMs } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import { Unavailable } from '../../kernel/errors.ts'
import { TooManySeries } from './errors.ts'
import * as store from './store/numbers.ts'
import { fieldOf, namesOf } from './write/extract.ts'

export interface Application {
  tenantId: string
  applicationName: string
}

export interface Endpoint extends Application {
  endpointId: string
}

export interface Names {
  /** At once when it is remembered. */
  endpointNo(endpoint: Endpoint): number | Promise<number>
  /**
   * The sets that hold these fields, one after the other in their order: mostly one; several where the fields are many, and one
   * for each field where the application has too many sets.
   */
  setsOf(application: Application, fields: string[]): store.SeriesSet[] | Promise<store.SeriesSet[]>
  /** Of all samples of a message: what nobody knows yet is made together. */
  allSetsOf(application: Application, lists: string[][]): Promise<store.SeriesSet[][]>
  seriesOf(application: Application): Promise<store.Series[]>
  /** Of sets that some samples have; one that nobody knows is missing. */
  seriesIdsOf(setIds: Iterable<number>): Promise<Map<number, number[]>>
  /** The fields of a set that this process has written with. */
  fieldsOf(set: store.SeriesSet): string[]
  /** Gives the numbers that they had, where they were remembered. */
  forgetEndpoints(endpointIds: string[]): number[]
  forgetApplication(application: Application): void
  forgetAll(): void
}

const endpointsMax = 250_000
/** More than these combinations of fields, and each field is kept by itself. */
const setsMax = 2000
/** No index of PostgreSQL holds lists of more than about 670 numbers. */
const setFieldsMax = 500

interface Known {
  series: Map<string, number>
  /** By their fields, joined. */
  sets: Map<string, store.SeriesSet[]>
  count: number
  /** It may have so many series more, as it was found a moment ago: until then nobody asks again. */
  room: number
  roomKnownUntil: number
}

const roomKnownMs = 10_000

export function createNames(db: Db, options: { seriesMax: number }): Names {
  let endpoints = new Map<string, number>()
  let before = new Map<string, number>()
  let waiting: { endpoint: Endpoint; resolve(no: number): void; reject(error: unknown): void }[] = []
  const applications = new Map<string, Promise<Known> | Known>()
  const sets = new Map<number, number[]>()
  const fields = new WeakMap<store.SeriesSet, string[]>()
  /** Grows when something is forgotten: what was asked before must not be remembered after. */
  let forgotten = 0

  /** Two generations: what was not used for as long as the younger one filled up goes. */
  function remember(endpointId: string, no: number) {
    if (endpoints.size >= endpointsMax / 2) [before, endpoints] = [endpoints, new Map()]
    endpoints.set(endpointId, no)
  }

  async function numberThem() {
    const all = waiting
    waiting = []
    const asked = forgotten
    try {
      const unique = new Map(all.map(({ endpoint }) => [endpoint.endpointId, endpoint]))
      const found = await store.numberEndpoints(db.sql, [...unique.values()])
      const numbers = new Map(found.map(({ endpointId, endpointNo }) => [endpointId, endpointNo]))
      for (const { endpoint, resolve, reject } of all) {
        const no = numbers.get(endpoint.endpointId)
        if (no !== undefined && forgotten === asked) remember(endpoint.endpointId, no)
        // Unregistered at this very moment, which is nobody else's trouble.
        if (no === undefined) reject(Unavailable())
        else resolve(no)
      }
    } catch (error) {
      for (const { reject } of all) reject(error)
    }
  }

  async function load(application: Application): Promise<Known> {
    const [series, known] = await Promise.all([
      store.findSeries(db.sql, application),
      store.findSets(db.sql, application),
    ])
    const byId = new Map(series.map(({ seriesId, name, valueName }) => [seriesId, fieldOf(name, valueName)]))
    const made = known.map((set): [string, store.SeriesSet[]] => {
      const own = set.seriesIds.map((id) => byId.get(id)!)
      sets.set(set.setId, set.seriesIds)
      fields.set(set, own)
      return [own.join('\t'), [set]]
    })
    return {
      series: new Map([...byId].map(([seriesId, field]) => [field, seriesId])),
      // A name with a tab in it would make one field look like two; such names are refused by now.
      sets: new Map(made.filter(([key, [set]]) => key.split('\t').length === set!.seriesIds.length)),
      count: known.length,
      room: 0,
      roomKnownUntil: 0,
    }
  }

  const keyOf = ({ tenantId, applicationName }: Application) => `${tenantId}\n${applicationName}`

  function knownOf(application: Application): Promise<Known> | Known {
    const key = keyOf(application)
    const found = applications.get(key)
    if (found) return found
    const loading: Promise<Known> = load(application).then(
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

  /** Makes those known that are not; new ones are written, as long as the application may have more. */
  async function learnSeries(application: Application, known: Known, fields: string[]) {
    const missing = fields.filter((field) => !known.series.has(field))
    if (missing.length === 0) return
    const { applicationName } = application
    const full = (fresh: string[], room: number) =>
      TooManySeries({ applicationName, limit: options.seriesMax, series: namesOf(fresh[room]!).join('.') })
    const learn = (series: store.Series[]) => {
      for (const { seriesId, name, valueName } of series) known.series.set(fieldOf(name, valueName), seriesId)
    }
    if (missing.length > known.room && known.roomKnownUntil > monotonicMs()) throw full(missing, known.room)
    const asNames = missing.map((field) => {
      const [name, valueName] = namesOf(field)
      return { name, valueName }
    })
    const made = await db.tx(async (sql) => {
      await store.lockApplication(sql, application)
      // Another process may have made them.
      learn(await store.findTheseSeries(sql, application, asNames))
      const fresh = missing.filter((field) => !known.series.has(field))
      if (fresh.length === 0) return []
      const room = Math.max(0, options.seriesMax - (await store.countSeries(sql, application)))
      if (fresh.length > room) {
        known.room = room
        known.roomKnownUntil = monotonicMs() + roomKnownMs
        throw full(fresh, room)
      }
      await store.insertSeries(sql, application, asNames)
      return await store.findTheseSeries(sql, application, asNames)
    })
    learn(made)
  }

  /** Undefined where one of the sets is not known here. `mayBeAlone`: each field by itself is good enough. */
  function remembered(known: Known, own: string[], mayBeAlone = known.count >= setsMax): store.SeriesSet[] | undefined {
    if (own.length > setFieldsMax) return allOf(partsOf(own), (part) => remembered(known, part, mayBeAlone))
    const found = known.sets.get(own.join('\t'))
    return found ?? (mayBeAlone ? allOf(own, (field) => known.sets.get(field)) : undefined)
  }

  async function learnSets(application: Application, known: Known, lists: string[][]) {
    const missing = new Map<string, string[]>()
    for (const own of lists.flatMap(partsOf)) {
      if (known.sets.has(own.join('\t'))) continue
      const isRoom = own.length === 1 || known.count + missing.size < setsMax
      for (const some of isRoom ? [own] : own.map((field) => [field]))
        if (!known.sets.has(some.join('\t'))) missing.set(some.join('\t'), some)
    }
    if (missing.size === 0) return
    const wanted = [...missing.values()].map((own) => own.map((field) => known.series.get(field)!))
    const made = await store.insertSets(db.sql, application, wanted)
    const byIds = new Map(made.map((set) => [set.seriesIds.join(), set]))
    for (const [index, [key, own]] of [...missing].entries()) {
      const set = byIds.get(wanted[index]!.join())!
      sets.set(set.setId, set.seriesIds)
      fields.set(set, own)
      if (!known.sets.has(key)) known.count++
      known.sets.set(key, [set])
    }
  }

  async function allSetsOf(application: Application, lists: string[][]): Promise<store.SeriesSet[][]> {
    const known = await knownOf(application)
    const unknown = lists.filter((own) => !remembered(known, own))
    if (unknown.length > 0) {
      await learnSeries(application, known, [...new Set(unknown.flat())])
      await learnSets(application, known, unknown)
    }
    return lists.map((own) => remembered(known, own, true)!)
  }

  return {
    endpointNo(endpoint) {
      const known = endpoints.get(endpoint.endpointId)
      if (known !== undefined) return known
      const older = before.get(endpoint.endpointId)
      if (older !== undefined) {
        remember(endpoint.endpointId, older)
        return older
      }
      return new Promise((resolve, reject) => {
        if (waiting.push({ endpoint, resolve, reject }) === 1) setImmediate(numberThem)
      })
    },
    setsOf(application, own) {
      const known = applications.get(keyOf(application))
      const found = known && !(known instanceof Promise) ? remembered(known, own) : undefined
      return found ?? allSetsOf(application, [own]).then(([sets]) => sets!)
    },
    allSetsOf,
    seriesOf: (application) => store.findSeries(db.sql, application),
    async seriesIdsOf(setIds) {
      const unknown = [...new Set(setIds)].filter((setId) => !sets.has(setId))
      if (unknown.length > 0)
        for (const { setId, seriesIds: own } of await store.findSetsByNumber(db.sql, unknown)) sets.set(setId, own)
      return sets
    },
    fieldsOf: (set) => fields.get(set)!,
    forgetEndpoints(endpointIds) {
      forgotten++
      const numbers = endpointIds.flatMap((endpointId) => endpoints.get(endpointId) ?? before.get(endpointId) ?? [])
      for (const endpointId of endpointIds) {
        endpoints.delete(endpointId)
        before.delete(endpointId)
      }
      return numbers
    },
    forgetApplication: (application) => void applications.delete(keyOf(application)),
    forgetAll() {
      forgotten++
      endpoints.clear()
      before.clear()
      applications.clear()
      sets.clear()
    },
  }
}

function partsOf(own: string[]): string[][] {
  if (own.length <= setFieldsMax) return [own]
  const parts: string[][] = []
  for (let from = 0; from < own.length; from += setFieldsMax) parts.push(own.slice(from, from + setFieldsMax))
  return parts
}

/** What is found of all of them, or undefined where one is missing. */
function allOf<T, V>(all: T[], find: (one: T) => V[] | undefined): V[] | undefined {
  const found: V[] = []
  for (const one of all) {
    const own = find(one)
    if (!own) return undefined
    for (const value of own) found.push(value)
  }
  return found
}
