/** On which connections a list is read: where the plan is certain, it is not made anew for each page. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db, Pool } from '../../../kernel/db.ts'
import type { Log } from '../../../kernel/log.ts'
import type { EndpointQuery } from './query.ts'
import * as store from './store/list.ts'

export interface Reading {
  /** Walks along one index. */
  walking: Pool
  /** For what the index of metadata finds. */
  searching(query: EndpointQuery): Pool
}

/**
 * In a tenant of so many endpoints the index of metadata is the way, whatever is asked for. The few of a smaller one may be
 * found faster one by one than among all others that have the same values, and only a plan for just these values knows.
 */
const largeTenant = 50_000
const knownMs = 60_000
const tenantsMax = 1000

export function createReading(db: Db, log: Log): Reading {
  const planned = db.open({ max: 12, name: 'waypost-lists', plans: 'once' })
  const sizes = new Map<string, { count: number; since: number }>()

  async function count(tenantId: string) {
    const count = await store.countPlain(planned.sql, { tenantId, sight: 'all', conditions: [] })
    if (sizes.size >= tenantsMax) sizes.clear()
    sizes.set(tenantId, { count, since: monotonicMs() })
  }

  /** As of a minute ago; nobody waits for it. */
  function isLarge(tenantId: string): boolean {
    const known = sizes.get(tenantId)
    if (!known || monotonicMs() - known.since > knownMs) {
      sizes.set(tenantId, { count: known?.count ?? 0, since: monotonicMs() })
      count(tenantId).catch((error) => log.warn({ error, tenantId }, 'endpoints could not be counted'))
    }
    return (known?.count ?? 0) >= largeTenant
  }

  return {
    walking: planned.sql,
    searching: (query) => (store.isOfWholeTenant(query) && isLarge(query.tenantId) ? planned.sql : db.sql),
  }
}
