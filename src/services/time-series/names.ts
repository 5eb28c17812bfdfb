/**
 * What this process knows of numbers that stand for names. An application's series and sets are read once and only ever grow;
 * endpoints are remembered as long as there is room.
 */
import { monotonicMs } from '../../kernel/clock.ts'
import type { Db } from '../../kernel/db.ts'
import { Unavailable } from '../../kernel/errors.ts'
import { TooManySeries } from './errors.ts'
import { fieldOf, namesOf } from './extract.ts'
import * as store from './store/names.ts'

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
  /** The sets that hold these fields, in their order: one, or one for each field where an application has too many sets. */
  setsOf(application: Application, fields: string[]): store.SeriesSet[] | Promise<store.SeriesSet[]>
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
      for (const { endpoint, resolve } of all) {
        const no = numbers.get(endpoint.endpointId)
        if (no === undefined) throw Unavailable() // unregistered at this very moment
        if (forgotten === asked) remember(endpoint.endpointId, no)
        resolve(no)
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
      sets: new Map(made),
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

  /** The numbers of all fields; new ones are written, as long as the application may have more. */
  async function seriesIds(application: Application, known: Known, fields: string[]): Promise<number[]> {
    const missing = [...new Set(fields.filter((field) => !known.series.has(field)))]
    if (missing.length > 0) {
      const full = (room: number) => {
        const series = namesOf(missing[room]!).join('.')
        return TooManySeries({ applicationName: application.applicationName, limit: options.seriesMax, series })
      }
      if (missing.length > known.room && known.roomKnownUntil > monotonicMs()) throw full(known.room)
      await db.tx(async (sql) => {
        await store.lockApplication(sql, application)
        const there = await store.findSeries(sql, application)
        const names = new Set(there.map(({ name, valueName }) => fieldOf(name, valueName)))
        const fresh = missing.filter((field) => !names.has(field))
        const room = Math.max(0, options.seriesMax - there.length)
        if (fresh.length > room) {
          known.room = room
          known.roomKnownUntil = monotonicMs() + roomKnownMs
          throw full(room)
        }
        const asNames = fresh.map((field) => {
          const [name, valueName] = namesOf(field)
          return { name, valueName }
        })
        if (fresh.length > 0) await store.insertSeries(sql, application, asNames)
      })
      for (const { seriesId, name, valueName } of await store.findSeries(db.sql, application))
        known.series.set(fieldOf(name, valueName), seriesId)
    }
    return fields.map((field) => known.series.get(field)!)
  }

  async function makeSet(application: Application, known: Known, own: string[], ids: number[]) {
    const key = own.join('\t')
    const there = known.sets.get(key)
    if (there) return there
    const set = await store.insertSet(db.sql, application, ids)
    sets.set(set.setId, set.seriesIds)
    fields.set(set, own)
    known.sets.set(key, [set])
    known.count++
    return [set]
  }

  async function makeSets(application: Application, known: Known, own: string[]): Promise<store.SeriesSet[]> {
    const ids = await seriesIds(application, known, own)
    if (known.count < setsMax || own.length === 1) return await makeSet(application, known, own, ids)
    const made: store.SeriesSet[] = []
    for (const [place, id] of ids.entries()) made.push(...(await makeSet(application, known, [own[place]!], [id])))
    return made
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
      if (known && !(known instanceof Promise)) {
        const found = known.sets.get(own.join('\t'))
        if (found) return found
      }
      return (async () => {
        const now = await knownOf(application)
        return now.sets.get(own.join('\t')) ?? (await makeSets(application, now, own))
      })()
    },
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
