/** Deletes the definitions of deleted tenants. */
import { defineJob } from '../../../../kernel/jobs.ts'
import { TenantDeleted } from '../../../tenants/events.ts'
import { DefinitionsChanged } from '../../events.ts'
import { deleteRevisions, deleteSomeOfTenant } from '../store/deletions.ts'
import type { Deps } from './deps.ts'

const DeleteTenantDefinitions = defineJob<{ tenantId: string }>('rules.delete-definitions', { timeoutSeconds: 3600 })
const rowsPerStatement = 1000

/**
 * Deletes the definitions of a deleted tenant. Triggers that name deleted applications, versions or endpoints stay, but match nothing
 * (document 5, 1.10).
 */
export function handleTenantDeletion({ kit: { bus, jobs, db } }: Deps) {
  bus.handle('rules.delete-definitions', TenantDeleted, (sql, { tenantId }) =>
    jobs.send(sql, DeleteTenantDefinitions, { tenantId }),
  )
  jobs.handle(DeleteTenantDefinitions, async ({ tenantId }, { signal }) => {
    while ((await deleteSomeOfTenant(db.sql, tenantId, rowsPerStatement)) > 0) signal.throwIfAborted()
    await db.tx(async (sql) => {
      await deleteRevisions(sql, tenantId)
      await bus.publish(sql, DefinitionsChanged, { tenantId, revision: 0 })
    })
  })
}
