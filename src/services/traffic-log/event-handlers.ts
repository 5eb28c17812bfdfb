import type { Bus } from '../../kernel/bus.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { TrafficLogService } from './service.ts'

export function registerEventHandlers(bus: Bus, log: TrafficLogService) {
  bus.handle('traffic-log.forget-tenant', TenantDeleted, (sql, { tenantId }) =>
    log.enqueueTenantDeletion(sql, tenantId),
  )
  bus.handle('traffic-log.forget-endpoints', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    log.recordUnregistered(sql, tenantId, endpointIds, new Date(unregisteredDate)),
  )
}
