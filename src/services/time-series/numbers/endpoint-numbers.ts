/** Caches the numbers of endpoints. An endpoint gets its number with its first sample. */
import type { Db } from '../../../kernel/db.ts'
import { DatabaseUnavailable } from '../../../kernel/errors.ts'
import * as store from '../store/numbers.ts'

export interface Endpoint {
  tenantId: string
  applicationName: string
  endpointId: string
}

export interface EndpointNumbers {
  /** Returns the number. It is returned without a promise if it is cached. */
  endpointNo(endpoint: Endpoint): number | Promise<number>
  /** Removes endpoints from the cache and returns the numbers that were cached. */
  invalidateEndpoints(endpointIds: string[]): number[]
  invalidateAllEndpoints(): void
}

const cachedMax = 250_000

export function createEndpointNumbers(db: Db): EndpointNumbers {
  /**
   * The cache has two generations. A used entry moves to the younger generation. When the younger generation is full, the entries of
   * the older generation are evicted, and the younger generation becomes the older one.
   */
  let [young, old] = [new Map<string, number>(), new Map<string, number>()]
  let pending: { endpoint: Endpoint; resolve(no: number): void; reject(error: unknown): void }[] = []
  /** Counts invalidations. A result is not cached if an invalidation happened after its lookup started. */
  let invalidations = 0

  function addToCache(endpointId: string, no: number) {
    if (young.size >= cachedMax / 2) [old, young] = [young, new Map()]
    young.set(endpointId, no)
  }

  /** Looks up all endpoints that were requested in the same turn of the event loop, with one statement. */
  async function lookUpPending() {
    const requests = pending
    pending = []
    const before = invalidations
    try {
      const unique = new Map(requests.map(({ endpoint }) => [endpoint.endpointId, endpoint]))
      const numbered = await store.numberEndpoints(db.sql, [...unique.values()])
      const numbers = new Map(numbered.map(({ endpointId, endpointNo }) => [endpointId, endpointNo]))
      for (const { endpoint, resolve, reject } of requests) {
        const no = numbers.get(endpoint.endpointId)
        if (no !== undefined && invalidations === before) addToCache(endpoint.endpointId, no)
        // The endpoint lost its number between the two statements of `numberEndpoints`. Only callers that asked for this endpoint fail.
        if (no === undefined) reject(DatabaseUnavailable())
        else resolve(no)
      }
    } catch (error) {
      for (const { reject } of requests) reject(error)
    }
  }

  return {
    endpointNo(endpoint) {
      const recent = young.get(endpoint.endpointId)
      if (recent !== undefined) return recent
      const older = old.get(endpoint.endpointId)
      if (older !== undefined) {
        addToCache(endpoint.endpointId, older)
        return older
      }
      return new Promise((resolve, reject) => {
        if (pending.push({ endpoint, resolve, reject }) === 1) setImmediate(lookUpPending)
      })
    },
    invalidateEndpoints(endpointIds) {
      invalidations++
      const numbers = endpointIds.flatMap((endpointId) => young.get(endpointId) ?? old.get(endpointId) ?? [])
      for (const endpointId of endpointIds) {
        young.delete(endpointId)
        old.delete(endpointId)
      }
      return numbers
    },
    invalidateAllEndpoints() {
      invalidations++
      young.clear()
      old.clear()
    },
  }
}
