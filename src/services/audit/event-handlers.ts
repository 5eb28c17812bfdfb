import type { Bus } from '../../kernel/bus.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { AuditService } from './service.ts'

export function registerEventHandlers(bus: Bus, service: AuditService) {
  bus.handle('audit.forget-tenant', TenantDeleted, (sql, { tenantId }) => service.deleteTenant(sql, tenantId))
}
