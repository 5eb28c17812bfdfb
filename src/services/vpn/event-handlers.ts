import type { Bus } from '../../kernel/bus.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted, TenantStatusChanged } from '../tenants/events.ts'
import type { VpnService } from './service.ts'

export function registerEventHandlers(bus: Bus, vpn: VpnService) {
  bus.handle('vpn.forget-endpoints', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    vpn.forgetEndpoints(sql, { tenantId, endpointIds, until: new Date(unregisteredDate) }),
  )
  bus.handle('vpn.tenant-status', TenantStatusChanged, (sql, { tenantId, to }) =>
    // The clients of a tenant can also connect while the tenant is being updated (document 5, 10.1).
    vpn.setAvailable(sql, tenantId, to === 'AVAILABLE' || to === 'UPDATING'),
  )
  bus.handle('vpn.forget-tenant', TenantDeleted, (sql, { tenantId }) => vpn.forgetTenant(sql, tenantId))
}
