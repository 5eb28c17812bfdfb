import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted } from '../applications/events.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { Deletions } from './service/deletions.ts'

export function registerEventHandlers(bus: Bus, deletions: Deletions) {
  bus.handle('ingest.forget-application', ApplicationDeleted, (sql, { tenantId, applicationName }) =>
    deletions.forgetApplication(sql, tenantId, applicationName),
  )
  bus.handle('ingest.forget-tenant', TenantDeleted, (sql, { tenantId }) => deletions.forgetTenant(sql, tenantId))
  bus.handle('ingest.record-unregistered', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    deletions.recordUnregistered(sql, tenantId, endpointIds, new Date(unregisteredDate)),
  )
}
