/** The numbers of endpoints, as this process remembers them. Endpoints without a number get one with their first sample. */
import type { Db } from '../../../kernel/db.ts'
import { Unavailable } from '../../../kernel/errors.ts'
import * as store from '../store/numbers.ts'

export interface Endpoint {
  tenantId: string
  applicationName: string
  endpointId: string
}

export interface EndpointNumbers {
  /** Without a promise when it is remembered. */
  endpointNo(endpoint: Endpoint): number | Promise<number>
  /** Returns the numbers that were remembered. */
  forgetEndpoints(endpointIds: string[]): number[]
  forgetAllEndpoints(): void
}

const rememberedMax = 250_000

export function createEndpointNumbers(db: Db): EndpointNumbers {
  /** Two generations: when the younger one is full it becomes the older one, and what was not used since is dropped. */
  let [young, old] = [new Map<string, number>(), new Map<string, number>()]
  let waiting: { endpoint: Endpoint; resolve(no: number): void; reject(error: unknown): void }[] = []
  /** Grows when something is forgotten: an answer to an older question is not remembered. */
  let forgotten = 0

  function remember(endpointId: string, no: number) {
    if (young.size >= rememberedMax / 2) [old, young] = [young, new Map()]
    young.set(endpointId, no)
  }

  /** One statement for all endpoints that were asked for in the same turn of the event loop. */
  async function askForWaiting() {
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
        // Unregistered between the two statements: only this caller fails.
        if (no === undefined) reject(Unavailable())
        else resolve(no)
      }
    } catch (error) {
      for (const { reject } of all) reject(error)
    }
  }

  return {
    endpointNo(endpoint) {
      const known = young.get(endpoint.endpointId)
      if (known !== undefined) return known
      const older = old.get(endpoint.endpointId)
      if (older !== undefined) {
        remember(endpoint.endpointId, older)
        return older
      }
      return new Promise((resolve, reject) => {
        if (waiting.push({ endpoint, resolve, reject }) === 1) setImmediate(askForWaiting)
      })
    },
    forgetEndpoints(endpointIds) {
      forgotten++
      const numbers = endpointIds.flatMap((endpointId) => young.get(endpointId) ?? old.get(endpointId) ?? [])
      for (const endpointId of endpointIds) {
        young.delete(endpointId)
        old.delete(endpointId)
      }
      return numbers
    },
    forgetAllEndpoints() {
      forgotten++
      young.clear()
      old.clear()
    },
  }
}
