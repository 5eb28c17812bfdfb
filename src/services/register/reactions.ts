import type { Bus } from '../../kernel/bus.ts'
import { VersionDeleted } from '../applications/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { RegisterService } from './service.ts'

export function reactions(bus: Bus, { tenants, endpoints }: RegisterService) {
  bus.react('register.forget-tenant', TenantDeleted, (sql, { tenantId }) => tenants.forget(sql, tenantId))
  bus.react('register.forget-version', VersionDeleted, (sql, version) => endpoints.forgetVersion(sql, version))
}
