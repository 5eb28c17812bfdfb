import type { Bus } from '../../kernel/bus.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { EndingRules } from './service/endings.ts'

export function reactions(bus: Bus, endings: EndingRules) {
  bus.react('binary-data.forget-endpoints', EndpointUnregistered, (sql, { tenantId, endpointIds, unregisteredDate }) =>
    endings.forgetEndpoints(sql, { tenantId, endpointIds, until: new Date(unregisteredDate) }),
  )
  bus.react('binary-data.forget-tenant', TenantDeleted, (sql, { tenantId }) => endings.forgetTenant(sql, tenantId))
}
