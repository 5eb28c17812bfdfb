import type { Bus } from '../../kernel/bus.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { CredentialsService } from './service.ts'

export function registerEventHandlers(bus: Bus, credentials: CredentialsService) {
  bus.handle('credentials.forget-tenant', TenantDeleted, (sql, { tenantId }) =>
    credentials.deleteTenantData(sql, tenantId),
  )
}
