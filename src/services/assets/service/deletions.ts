/** Ends relations of unregistered endpoints, and deletes the data of deleted tenants. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import type { Register } from '../../register/contract.ts'
import { deleteSomeOfTenant } from '../store/cleanup.ts'
import { endRelationsOf } from '../store/relations.ts'

export interface DeletionOperations {
  endRelations(sql: Sql, endpoints: { tenantId: string; endpointIds: string[]; unregisteredDate: Date }): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
}

const ForgetTenant = defineJob<{ tenantId: string }>('assets.forget-tenant', { timeoutSeconds: 3600 })
const rowsPerStatement = 5000

export function createDeletionOperations(
  { db, jobs }: Pick<Kit, 'db' | 'jobs'>,
  register: Pick<Register, 'containments'>,
): DeletionOperations {
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    while (await deleteSomeOfTenant(db.sql, tenantId, rowsPerStatement));
  })
  return {
    async endRelations(sql, { tenantId, endpointIds, unregisteredDate: endedDate }) {
      // If an endpoint was registered again with the same id, it keeps the relations that it got since then.
      const existing = new Set(
        (await register.containments.lockEndpoints(sql, endpointIds)).map(({ endpointId }) => endpointId),
      )
      const common = { tenantId, entityType: 'ENDPOINT' as const, endedDate }
      const [gone, back] = [false, true].map((isBack) => endpointIds.filter((id) => existing.has(id) === isBack))
      if (gone!.length > 0) await endRelationsOf(sql, { ...common, entityIds: gone! })
      if (back!.length > 0) await endRelationsOf(sql, { ...common, entityIds: back!, createdUntil: endedDate })
    },
    forgetTenant: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId }),
  }
}
