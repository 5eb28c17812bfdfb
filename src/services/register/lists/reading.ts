/** Chooses database connections for lists: statements whose plan never changes use connections that cache plans. */
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
 * From this number of endpoints on, the metadata index is always the best plan for a tenant. For a smaller tenant, checking
 * its endpoints one by one may be faster, and only a plan for the given values can decide.
 */
const largeTenantEndpoints = 50_000
const countValidMs = 60_000
const tenantsMax = 1000

export function createListConnections(db: Db, log: Log): ListConnections {
  const planned = db.open({ max: 12, name: 'waypost-lists', plans: 'once' })
  const sizes = new Map<string, { count: number; since: number }>()

  async function count(tenantId: string) {
    const count = await store.countPlain(planned.sql, { tenantId, visibility: 'all', conditions: [] })
    if (sizes.size >= tenantsMax) sizes.clear()
    sizes.set(tenantId, { count, since: monotonicMs() })
  }

  /** Answers from a count that is up to a minute old. The count is renewed in the background. */
  function isLarge(tenantId: string): boolean {
    const cached = sizes.get(tenantId)
    if (!cached || monotonicMs() - cached.since > countValidMs) {
      sizes.set(tenantId, { count: cached?.count ?? 0, since: monotonicMs() })
      count(tenantId).catch((err) => countingEndpointsFailed(log, { err, tenantId }))
    }
    return (cached?.count ?? 0) >= largeTenantEndpoints
  }

  return {
    forIndexScans: planned.sql,
    forSearches: (query) => (store.isOfWholeTenant(query) && isLarge(query.tenantId) ? planned.sql : db.sql),
  }
}
