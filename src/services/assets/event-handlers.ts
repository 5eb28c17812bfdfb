import type { Bus } from '../../kernel/bus.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { AssetsService } from './service.ts'

export function registerEventHandlers(bus: Bus, { deletions }: AssetsService) {
  bus.handle('assets.end-relations', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    deletions.endRelations(sql, { tenantId, endpointIds, unregisteredDate: new Date(unregisteredDate) }),
  )
  bus.handle('assets.forget-tenant', TenantDeleted, (sql, { tenantId }) => deletions.forgetTenant(sql, tenantId))
}
