/**
 * What this process knows of numbers that stand for names. An application's series and sets are read once and only ever grow;
 * endpoints are remembered as long as there is room.
 */
import type { Db } from '../../kernel/db.ts'
import { TooManySeries } from './errors.ts'
import { namesOf } from './extract.ts'
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
  /** Of a set that some sample has. */
  seriesIdsOf(setId: number): number[] | undefined
  forgetEndpoints(endpointIds: string[]): void
  forgetAll(): void
}

const endpointsMax = 250_000
/** More than these combinations of fields, and each field is kept by itself. */
const setsMax = 2000

interface Known {
  series: Map<string, number>
  sets: Map<string, store.SeriesSet[]>
  count: number
}

export function createNames(db: Db, options: { seriesMax: number }): Names {
  let endpoints = new Map<string, number>()
  let before = new Map<string, number>()
  let waiting: { endpoint: Endpoint; resolve(no: number): void; reject(error: unknown): void }[] = []
  const applications = new Map<string, Promise<Known> | Known>()
  const sets = new Map<number, number[]>()

  /** Two generations: what was not used for as long as the younger one filled up goes. */
  function remember(endpointId: string, no: number) {
    if (endpoints.size >= endpointsMax / 2) [before, endpoints] = [endpoints, new Map()]
    endpoints.set(endpointId, no)
  }

  async function numberThem() {
    const all = waiting
    waiting = []
    try {
      const unique = new Map(all.map(({ endpoint }) => [endpoint.endpointId, endpoint]))
      const found = await store.numberEndpoints(db.sql, [...unique.values()])
      const numbers = new Map(found.map(({ endpointId, endpointNo }) => [endpointId, endpointNo]))
      for (const { endpoint, resolve } of all) {
        const no = numbers.get(endpoint.endpointId)!
        remember(endpoint.endpointId, no)
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
    const byId = new Map(series.map(({ seriesId, name, valueName }) => [seriesId, `${name}\n${valueName}`]))
    for (const { setId, seriesIds } of known) sets.set(setId, seriesIds)
    return {
      series: new Map([...byId].map(([seriesId, field]) => [field, seriesId])),
      sets: new Map(known.map((set) => [set.seriesIds.map((id) => byId.get(id)!).join('\t'), [set]])),
      count: known.length,
    }
  }

  const keyOf = ({ tenantId, applicationName }: Application) => `${tenantId}\n${applicationName}`

  function knownOf(application: Application): Promise<Known> | Known {
    const key = keyOf(application)
    const found = applications.get(key)
    if (found) return found
    const loading = load(application).then(
      (known) => {
        applications.set(key, known)
        return known
      },
      (error) => {
        applications.delete(key)
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
      await db.tx(async (sql) => {
        await store.lockApplication(sql, application)
        const there = await store.findSeries(sql, application)
        const names = new Set(there.map(({ name, valueName }) => `${name}\n${valueName}`))
        const fresh = missing.filter((field) => !names.has(field))
        if (there.length + fresh.length > options.seriesMax)
          throw TooManySeries({ applicationName: application.applicationName, limit: options.seriesMax })
        const asNames = fresh.map((field) => {
          const [name, valueName] = namesOf(field)
          return { name, valueName }
        })
        if (fresh.length > 0) await store.insertSeries(sql, application, asNames)
      })
      for (const { seriesId, name, valueName } of await store.findSeries(db.sql, application))
        known.series.set(`${name}\n${valueName}`, seriesId)
    }
    return fields.map((field) => known.series.get(field)!)
  }

  async function makeSets(application: Application, known: Known, fields: string[]): Promise<store.SeriesSet[]> {
    const ids = await seriesIds(application, known, fields)
    const parts = known.count < setsMax || fields.length === 1 ? [ids] : ids.map((id) => [id])
    const made = await Promise.all(parts.map((part) => store.insertSet(db.sql, application, part)))
    for (const { setId, seriesIds: own } of made) sets.set(setId, own)
    if (parts.length === 1) {
      known.sets.set(fields.join('\t'), made)
      known.count++
    }
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
    setsOf(application, fields) {
      const known = applications.get(keyOf(application))
      if (known && !(known instanceof Promise)) {
        const found = known.sets.get(fields.join('\t'))
        if (found) return found
      }
      return (async () => {
        const now = await knownOf(application)
        return now.sets.get(fields.join('\t')) ?? (await makeSets(application, now, fields))
      })()
    },
    seriesOf: (application) => store.findSeries(db.sql, application),
    seriesIdsOf: (setId) => sets.get(setId),
    forgetEndpoints(endpointIds) {
      for (const endpointId of endpointIds) {
        endpoints.delete(endpointId)
        before.delete(endpointId)
      }
    },
    forgetAll() {
      endpoints.clear()
      before.clear()
      applications.clear()
      sets.clear()
    },
  }
}
