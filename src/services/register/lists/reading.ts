/** Chooses database connections for lists. Statements that always have the same best plan use connections that cache plans. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db, Pool } from '../../../kernel/db.ts'
import type { Log } from '../../../kernel/log.ts'
import { countingEndpointsFailed } from '../log-messages.ts'
import type { EndpointQuery } from './query.ts'
import * as store from './store/list.ts'

export interface ListConnections {
  /** For statements that scan one index. */
  forIndexScans: Pool
  /** For statements that may use the metadata index. */
  forSearches(query: EndpointQuery): Pool
}

/**
 * If a tenant has at least this many endpoints, the metadata index is always the best plan. For a smaller tenant, checking its endpoints
 * one by one may be faster; only a plan for the given values can decide that.
 */
const largeTenantEndpoints = 50_000
const countValidMs = 60_000
const tenantsMax = 1000

export function createListConnections(db: Db, log: Log): ListConnections {
  const poolWithCachedPlans = db.open({ max: 12, name: 'waypost-lists', plans: 'once' })
  const countByTenant = new Map<string, { count: number; countedAtMs: number }>()

  async function refreshCount(tenantId: string) {
    const count = await store.countPlain(poolWithCachedPlans.sql, { tenantId, visibility: 'all', conditions: [] })
    if (countByTenant.size >= tenantsMax) countByTenant.clear()
    countByTenant.set(tenantId, { count, countedAtMs: monotonicMs() })
  }

  /** Returns whether the tenant is large. The count may be up to a minute old; it is renewed in the background. */
  function isLarge(tenantId: string): boolean {
    const cached = countByTenant.get(tenantId)
    if (!cached || monotonicMs() - cached.countedAtMs > countValidMs) {
      countByTenant.set(tenantId, { count: cached?.count ?? 0, countedAtMs: monotonicMs() })
      refreshCount(tenantId).catch((err) => countingEndpointsFailed(log, { err, tenantId }))
    }
    return (cached?.count ?? 0) >= largeTenantEndpoints
  }

  return {
    forIndexScans: poolWithCachedPlans.sql,
    forSearches: (query) =>
      store.isOfWholeTenant(query) && isLarge(query.tenantId) ? poolWithCachedPlans.sql : db.sql,
  }
}
