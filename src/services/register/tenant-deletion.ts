import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { defineJob } from '../../kernel/jobs.ts'
import { RegisterBatch } from './endpoints/batches.ts'
import { deleteOfTenant } from './endpoints/store/endpoints.ts'
import { MatchFilter } from './filters/matching.ts'
import { deleteFiltersOfTenant } from './filters/store/members.ts'

export interface TenantRules {
  /** Enqueues the deletion with the commit of this transaction. */
  forget(sql: Sql, tenantId: string): Promise<void>
}

const ForgetTenant = defineJob<{ tenantId: string }>('register.forget-tenant', { timeoutSeconds: 3600 })
const atOnce = 5000

/** Deletes a tenant's endpoints in parts. It publishes no events for them, because all services handle `TenantDeleted`. */
export function createTenantRules({ db, jobs, bulk }: Kit): TenantRules {
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    // Members are deleted twice: a concurrent change of an endpoint may have added some.
    for (const deletePart of [deleteFiltersOfTenant, deleteOfTenant, deleteFiltersOfTenant])
      while (await db.tx((sql) => deletePart(sql, tenantId, atOnce)));
    while (await db.tx((sql) => bulk.forgetTenant(sql, tenantId, [RegisterBatch, MatchFilter])));
  })
  return { forget: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }) }
}
