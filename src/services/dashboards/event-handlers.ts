import type { Bus } from '../../kernel/bus.ts'
import { VersionDeleted } from '../applications/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { DashboardsService } from './service.ts'

export function registerEventHandlers(bus: Bus, service: DashboardsService) {
  bus.handle('dashboards.forget-version', VersionDeleted, (sql, { tenantId, versionName }) =>
    service.forgetVersion(sql, tenantId, versionName),
  )
  bus.handle('dashboards.forget-tenant', TenantDeleted, (sql, { tenantId }) => service.forgetTenant(sql, tenantId))
}
