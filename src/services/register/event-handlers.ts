import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted, VersionDeleted } from '../applications/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { FilterRules } from './filters/service.ts'
import type { RegisterService } from './service.ts'

export function registerEventHandlers(
  bus: Bus,
  { tenants, endpoints, filters }: RegisterService & { filters: FilterRules },
) {
  bus.handle('register.forget-tenant', TenantDeleted, (sql, { tenantId }) => tenants.forget(sql, tenantId))
  bus.handle('register.forget-version', VersionDeleted, (sql, version) => endpoints.forgetVersion(sql, version))
  bus.handle('register.forget-filters', ApplicationDeleted, (sql, application) =>
    filters.forgetApplication(sql, application),
  )
}
