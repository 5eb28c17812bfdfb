import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted } from '../applications/events.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { Deletions } from './service/deletions.ts'

export function registerEventHandlers(bus: Bus, deletions: Deletions) {
  bus.handle('commands.forget-endpoints', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    deletions.forgetEndpoints(sql, { tenantId, endpointIds, until: new Date(unregisteredDate) }),
  )
  bus.handle('commands.forget-application', ApplicationDeleted, (sql, { tenantId, applicationName }) =>
    deletions.forgetApplication(sql, tenantId, applicationName),
  )
  bus.handle('commands.forget-tenant', TenantDeleted, (sql, { tenantId }) => deletions.forgetTenant(sql, tenantId))
}
