import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted, VersionDeleted } from '../applications/events.ts'
import { EndpointUnregistered, VersionUpdated } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { ConfigurationService } from './service.ts'

export function registerEventHandlers(bus: Bus, { deletions, pushes }: ConfigurationService) {
  bus.handle(
    'configuration.forget-endpoints',
    EndpointUnregistered,
    (sql, { tenantId, endpointIds, unregisteredDate }) =>
      deletions.forgetEndpoints(sql, { tenantId, endpointIds, until: new Date(unregisteredDate) }),
  )
  bus.handle('configuration.forget-version', VersionDeleted, (sql, { tenantId, versionName }) =>
    deletions.forgetVersion(sql, { tenantId, versionName }),
  )
  bus.handle('configuration.forget-application', ApplicationDeleted, (sql, application) =>
    deletions.forgetApplication(sql, application),
  )
  bus.handle('configuration.forget-tenant', TenantDeleted, (sql, { tenantId }) => deletions.forgetTenant(sql, tenantId))
  bus.handle('configuration.push-on-move', VersionUpdated, (sql, { tenantId, endpointId, versionName }) =>
    pushes.endpointChanged(sql, { tenantId, endpointId, versionName }),
  )
}
