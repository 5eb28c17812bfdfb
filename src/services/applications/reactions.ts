import type { Bus } from '../../kernel/bus.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { ApplicationsService } from './service.ts'

export function reactions(bus: Bus, { applications }: ApplicationsService) {
  bus.react('applications.forget-tenant', TenantDeleted, (sql, { tenantId }) =>
    applications.forgetTenant(sql, tenantId),
  )
}
