/** The last connects and disconnects of an endpoint, with the reasons. */
import { authorizeOrNotFound, type Ctx } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { NotFound } from '../kernel/errors.ts'
import { defineJob } from '../kernel/jobs.ts'
import { endpointResource, type Register } from '../services/register/contract.ts'
import { EndpointUnregistered } from '../services/register/events.ts'
import { TenantDeleted } from '../services/tenants/events.ts'
import * as store from './store/connection-history.ts'

export interface ConnectionEvent {
  at: Date
  connected: boolean
  reason?: string
}
export type ListConnections = (ctx: Ctx, endpointId: string) => Promise<ConnectionEvent[]>

const read = 'endpoint:read'
const rowsPerDeletion = 5000

const DeleteHistory = defineJob<{ tenantId: string }>('gateway.forget-connections-of-tenant', { timeoutSeconds: 3600 })

export function createConnectionHistory(
  { db, bus, jobs }: Pick<Kit, 'db' | 'bus' | 'jobs'>,
  register: Pick<Register, 'find'>,
): ListConnections {
  bus.handle('gateway.forget-connections', EndpointUnregistered, (sql, { endpointIds, unregisteredDate }) =>
    store.deleteHistoryOf(sql, endpointIds, new Date(unregisteredDate)),
  )
  jobs.handle(DeleteHistory, async ({ tenantId }) => {
    while ((await store.deleteHistoryOfTenant(db.sql, tenantId, rowsPerDeletion)) > 0);
  })
  bus.handle(DeleteHistory.name, TenantDeleted, (sql, { tenantId }) => jobs.send(sql, DeleteHistory, { tenantId }))

  return async (ctx, endpointId) => {
    const missing = () => NotFound({ what: `Endpoint ${endpointId}` })
    const endpoint = await register.find(endpointId)
    if (!endpoint) throw missing()
    authorizeOrNotFound(ctx, { read, scope: read }, endpointResource(endpoint), missing)
    const events = await store.findHistory(db.sql, endpoint.tenantId, endpointId)
    return events.map(({ at, connected, reason }) => ({
      at: new Date(at),
      connected,
      ...(reason !== undefined && { reason }),
    }))
  }
}
