import type { Bus } from '../../kernel/bus.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { TokensService } from './service.ts'

export function registerEventHandlers(bus: Bus, tokens: TokensService) {
  bus.handle('tokens.forget-tenant', TenantDeleted, (sql, { tenantId }) => tokens.enqueueTenantDeletion(sql, tenantId))
}
