import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted } from '../applications/events.ts'
import { EndpointUnregistered, VersionUpdated } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { Deletions } from './service/deletions.ts'

export function registerEventHandlers(bus: Bus, deletions: Deletions) {
  bus.handle('lorawan.forget-endpoints', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    deletions.forgetEndpoints(sql, { tenantId, endpointIds, until: new Date(unregisteredDate) }),
  )
  bus.handle('lorawan.forget-application', ApplicationDeleted, (sql, application) =>
    deletions.forgetApplication(sql, application),
  )
  bus.handle('lorawan.forget-tenant', TenantDeleted, (sql, { tenantId }) => deletions.forgetTenant(sql, tenantId))
  bus.handle('lorawan.move-endpoint', VersionUpdated, (sql, endpoint) => deletions.moveEndpoint(sql, endpoint))
}
