import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted, ConfigurationChanged, VersionDeleted } from '../applications/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { directoryInstance } from './configuration.ts'
import type { FilterOperations } from './filters/service.ts'
import type { RegisterService } from './service.ts'

export function registerEventHandlers(
  bus: Bus,
  { tenants, endpoints, filters, directory }: RegisterService & { filters: FilterOperations },
) {
  bus.handle('register.forget-tenant', TenantDeleted, (sql, { tenantId }) => tenants.enqueue(sql, tenantId))
  bus.handle('register.forget-version', VersionDeleted, (sql, version) =>
    endpoints.unregisterEndpointsOfVersion(sql, version),
  )
  bus.handle('register.forget-filters', ApplicationDeleted, (sql, application) =>
    filters.deleteOfApplication(sql, application),
  )
  bus.handle(
    'register.index-application',
    ConfigurationChanged,
    async (sql, { tenantId, instance, applicationName }) => {
      if (instance === directoryInstance.name && applicationName !== undefined)
        await directory.indexing.enqueueApplication(sql, { tenantId, applicationName })
    },
  )
}
