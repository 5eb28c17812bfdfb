import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { defineJob } from '../../kernel/jobs.ts'
import { RegisterBatch } from './endpoints/batches.ts'
import { deleteOfTenant } from './endpoints/store/endpoints.ts'
import { MatchFilter } from './filters/matching.ts'
import { deleteFiltersOfTenant } from './filters/store/members.ts'

export interface TenantRules {
  /** With this transaction it is certain; the work itself takes its time. */
  forget(sql: Sql, tenantId: string): Promise<void>
}

const ForgetTenant = defineJob<{ tenantId: string }>('register.forget-tenant', { timeoutSeconds: 3600 })
const atOnce = 5000

/** A tenant can leave a million endpoints: they go in parts, untold, because everybody hears of the tenant's end. */
export function createTenantRules({ db, jobs, bulk }: Kit): TenantRules {
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    // The members once more: a change of an endpoint may have been under way.
    for (const deletePart of [deleteFiltersOfTenant, deleteOfTenant, deleteFiltersOfTenant])
      while (await db.tx((sql) => deletePart(sql, tenantId, atOnce)));
    while (await db.tx((sql) => bulk.forgetTenant(sql, tenantId, [RegisterBatch, MatchFilter])));
  })
  return { forget: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }) }
}
