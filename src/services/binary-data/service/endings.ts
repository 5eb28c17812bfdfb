/** What goes when an endpoint or a tenant goes. */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import * as items from '../store/items.ts'
import { refuseUploadsOfEndpoints, refuseUploadsOfTenant } from '../store/uploads.ts'
import type { Leavings } from './leavings.ts'

export interface EndingRules {
  /** An endpoint that was registered anew since then keeps what it has. */
  forgetEndpoints(sql: Sql, of: { tenantId: string; endpointIds: string[]; until: Date }): Promise<void>
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
}

const atOnce = 1000
const ForgetEndpoints = defineJob<{ tenantId: string; endpointIds: string[]; until: string }>(
  'binary-data.forget-endpoints',
  { timeoutSeconds: 3600 },
)
const ForgetTenant = defineJob<{ tenantId: string }>('binary-data.forget-tenant', { timeoutSeconds: 3600 })

export function createEndingRules({ db, jobs }: Kit, leavings: Leavings): EndingRules {
  /** In parts, each a transaction: an endpoint can leave a million blobs. */
  async function inParts(tenantId: string, deletePart: (sql: Sql) => Promise<items.Gone[]>) {
    for (let more = true; more; )
      more = await db.tx(async (sql) => {
        const gone = await deletePart(sql)
        await leavings.leave(
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
