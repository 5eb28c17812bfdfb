/** Deletes the files and blobs of deleted endpoints and tenants. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import * as items from '../store/items.ts'
import { deleteServiceContentsOfTenant } from '../store/service-contents.ts'
import { refuseUploadsOfEndpoints, refuseUploadsOfTenant } from '../store/uploads.ts'
import type { OrphanContents } from './orphan-contents.ts'

export interface DeletionRules {
  /** Deletes what was stored until `until`. An endpoint that was registered again keeps what it has stored since then. */
  forgetEndpoints(sql: Sql, of: { tenantId: string; endpointIds: string[]; until: Date }): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
}

const atOnce = 1000
const ForgetEndpoints = defineJob<{ tenantId: string; endpointIds: string[]; until: string }>(
  'binary-data.forget-endpoints',
  { timeoutSeconds: 3600 },
)
const ForgetTenant = defineJob<{ tenantId: string }>('binary-data.forget-tenant', { timeoutSeconds: 3600 })

export function createDeletionRules({ db, jobs }: Kit, orphans: OrphanContents): DeletionRules {
  /** Deletes in parts, each in a transaction: an endpoint can have a million blobs. */
  async function inParts(tenantId: string, deletePart: (sql: Sql) => Promise<items.Gone[]>) {
    for (let more = true; more; )
      more = await db.tx(async (sql) => {
        const gone = await deletePart(sql)
        await orphans.record(
          sql,
          gone.map(({ contentKey }) => contentKey),
        )
        const bytes = gone.reduce((sum, { size }) => sum + size, 0)
        if (bytes > 0) await items.addUsage(sql, tenantId, -bytes)
        return gone.length === atOnce
      })
  }

  jobs.handle(ForgetEndpoints, ({ tenantId, endpointIds, until }) =>
    inParts(tenantId, (sql) =>
      items.deleteOfEndpoints(sql, { tenantId, endpointIds, until: new Date(until), limit: atOnce }),
    ),
  )
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    await inParts(tenantId, (sql) => items.deleteOfTenant(sql, tenantId, atOnce))
    await inParts(tenantId, (sql) => deleteServiceContentsOfTenant(sql, tenantId, atOnce))
    await items.deleteUsage(db.sql, tenantId)
  })

  return {
    async forgetEndpoints(sql, { tenantId, endpointIds, until }) {
      await refuseUploadsOfEndpoints(sql, { endpointIds, until })
      if (await items.hasItems(sql, endpointIds))
        await jobs.send(sql, ForgetEndpoints, { tenantId, endpointIds, until: until.toISOString() })
    },
    async forgetTenant(sql, tenantId) {
      await refuseUploadsOfTenant(sql, tenantId)
      await jobs.send(sql, ForgetTenant, { tenantId })
    },
  }
}
