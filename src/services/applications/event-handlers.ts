import type { Bus } from '../../kernel/bus.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { ApplicationsService } from './service.ts'

export function registerEventHandlers(bus: Bus, { applications }: ApplicationsService) {
  bus.handle('applications.forget-tenant', TenantDeleted, (sql, { tenantId }) =>
    applications.deleteTenantData(sql, tenantId),
  )
}
