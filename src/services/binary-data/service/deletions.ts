/** Deletes the files and blobs of deleted endpoints and tenants. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import type { Register } from '../../register/contract.ts'
import * as items from '../store/items.ts'
import { deleteServiceContentsOfTenant } from '../store/service-contents.ts'
import { rejectUploadsOfEndpoints, rejectUploadsOfTenant } from '../store/uploads.ts'
import type { OrphanContents } from './orphan-contents.ts'

export interface Deletions {
  /** Deletes the data of these endpoints. If an endpoint was registered again, data that was stored after the time `until` stays. */
  deleteOfEndpoints(sql: Sql, endpoints: { tenantId: string; endpointIds: string[]; until: Date }): Promise<void>
  deleteOfTenant(sql: Sql, tenantId: string): Promise<void>
}

const rowsPerTransaction = 1000
const DeleteOfEndpoints = defineJob<{ tenantId: string; endpointIds: string[]; until: string }>(
  'binary-data.forget-endpoints',
  { timeoutSeconds: 3600 },
)
const DeleteOfTenant = defineJob<{ tenantId: string }>('binary-data.forget-tenant', { timeoutSeconds: 3600 })

export function createDeletions(
  { db, jobs }: Kit,
  orphans: OrphanContents,
  register: Pick<Register, 'relation'>,
): Deletions {
  const registered = register.relation
  /** Deletes in parts, each in a transaction, because an endpoint can have a million blobs. */
  async function deleteInParts(tenantId: string, deletePart: (sql: Sql) => Promise<items.DeletedContent[]>) {
    for (let more = true; more; )
      more = await db.tx(async (sql) => {
        const deleted = await deletePart(sql)
        await orphans.record(
          sql,
          deleted.map(({ contentKey }) => contentKey),
        )
        const bytes = deleted.reduce((sum, { size }) => sum + size, 0)
        if (bytes > 0) await items.addUsage(sql, tenantId, -bytes)
        return deleted.length === rowsPerTransaction
      })
  }

  jobs.handle(DeleteOfEndpoints, ({ tenantId, endpointIds, until }) =>
    deleteInParts(tenantId, (sql) =>
      items.deleteOfEndpoints(sql, {
        ...{ tenantId, endpointIds, until: new Date(until), registered },
        limit: rowsPerTransaction,
      }),
    ),
  )
  jobs.handle(DeleteOfTenant, async ({ tenantId }) => {
    await deleteInParts(tenantId, (sql) => items.deleteOfTenant(sql, tenantId, rowsPerTransaction))
    await deleteInParts(tenantId, (sql) => deleteServiceContentsOfTenant(sql, tenantId, rowsPerTransaction))
    await items.deleteUsage(db.sql, tenantId)
  })

  return {
    async deleteOfEndpoints(sql, { tenantId, endpointIds, until }) {
      await rejectUploadsOfEndpoints(sql, { endpointIds, until, registered })
      if (await items.hasItems(sql, endpointIds))
        await jobs.send(sql, DeleteOfEndpoints, { tenantId, endpointIds, until: until.toISOString() })
    },
    async deleteOfTenant(sql, tenantId) {
      await rejectUploadsOfTenant(sql, tenantId)
      await jobs.send(sql, DeleteOfTenant, { tenantId })
    },
  }
}
