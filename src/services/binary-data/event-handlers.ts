import type { Bus } from '../../kernel/bus.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { Deletions } from './service/deletions.ts'

export function registerEventHandlers(bus: Bus, deletions: Deletions) {
  bus.handle('binary-data.forget-endpoints', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    deletions.deleteOfEndpoints(sql, { tenantId, endpointIds, until: new Date(unregisteredDate) }),
  )
  bus.handle('binary-data.forget-tenant', TenantDeleted, (sql, { tenantId }) => deletions.deleteOfTenant(sql, tenantId))
}
