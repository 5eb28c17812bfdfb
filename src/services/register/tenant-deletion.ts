import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { defineJob } from '../../kernel/jobs.ts'
import { registerTasks } from './bulk/works.ts'
import { deleteDirectoryOfTenant } from './directory/store/documents.ts'
import { RegisterBatch } from './endpoints/batches.ts'
import { deleteEndpointsOfTenant } from './endpoints/store/endpoints.ts'
import { MatchFilter } from './filters/matching.ts'
import { deleteFiltersOfTenant } from './filters/store/members.ts'

export interface TenantDeletion {
  /** Enqueues the deletion of a tenant's endpoints when `sql` commits. */
  enqueue(sql: Sql, tenantId: string): Promise<void>
}

const DeleteTenant = defineJob<{ tenantId: string }>('register.forget-tenant', { timeoutSeconds: 3600 })
const rowsPerTransaction = 5000

/**
 * Deletes a tenant's endpoints, with one transaction for each part. It publishes no events about the endpoints, because all services handle
 * `TenantDeleted`.
 */
export function createTenantDeletion({ db, jobs, bulk }: Kit): TenantDeletion {
  jobs.handle(DeleteTenant, async ({ tenantId }) => {
    // Members are deleted twice, because a concurrent change of an endpoint may have added members.
    for (const deletePart of [
      deleteFiltersOfTenant,
      deleteEndpointsOfTenant,
      deleteFiltersOfTenant,
      deleteDirectoryOfTenant,
    ])
      while (await db.tx((sql) => deletePart(sql, tenantId, rowsPerTransaction)));
    while (await db.tx((sql) => bulk.deleteTenantTasks(sql, tenantId, [RegisterBatch, MatchFilter, ...registerTasks])));
  })
  return { enqueue: (sql, tenantId) => jobs.send(sql, DeleteTenant, { tenantId }) }
}
