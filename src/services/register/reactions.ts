import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted, VersionDeleted } from '../applications/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { FilterRules } from './filters/service.ts'
import type { RegisterService } from './service.ts'

export function reactions(bus: Bus, { tenants, endpoints, filters }: RegisterService & { filters: FilterRules }) {
  bus.react('register.forget-tenant', TenantDeleted, (sql, { tenantId }) => tenants.forget(sql, tenantId))
  bus.react('register.forget-version', VersionDeleted, (sql, version) => endpoints.forgetVersion(sql, version))
  bus.react('register.forget-filters', ApplicationDeleted, (sql, application) =>
    filters.forgetApplication(sql, application),
  )
}
