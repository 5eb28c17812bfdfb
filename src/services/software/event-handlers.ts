import type { Bus } from '../../kernel/bus.ts'
import type { Sql } from '../../kernel/db.ts'
import { ApplicationDeleted } from '../applications/events.ts'
import {
  EndpointsMatched,
  EndpointsUnmatched,
  EndpointUnregistered,
  FilterActivated,
  FilterDeleted,
  FilterPending,
} from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { SoftwareChanged } from './events.ts'
import type { SoftwareService } from './service.ts'

interface OfFilter {
  tenantId: string
  applicationName: string
  filterId: string
}

export function registerEventHandlers(bus: Bus, { deletions, memberships, pushes }: SoftwareService) {
  bus.handle('software.forget-endpoints', EndpointUnregistered, (sql, { unregisteredDate, ...endpoints }) =>
    deletions.forgetEndpoints(sql, { ...endpoints, until: new Date(unregisteredDate) }),
  )
  bus.handle('software.forget-application', ApplicationDeleted, (sql, application) =>
    deletions.forgetApplication(sql, application),
  )
  bus.handle('software.forget-tenant', TenantDeleted, (sql, { tenantId }) => deletions.forgetTenant(sql, tenantId))

  const filterChanged = (sql: Sql, { filterId, tenantId, applicationName }: OfFilter) =>
    memberships.filterChanged(sql, { tenantId, applicationName }, filterId)
  bus.handle('software.filter-pending', FilterPending, filterChanged)
  bus.handle('software.filter-activated', FilterActivated, filterChanged)
  bus.handle('software.filter-deleted', FilterDeleted, filterChanged)

  const matchesChanged = async (
    sql: Sql,
    { filterId, endpointIds, ...application }: OfFilter & { endpointIds: string[] },
  ) => {
    if (!(await memberships.isNamed(sql, application, filterId))) return
    const changed = await memberships.refresh(sql, application, endpointIds)
    if (changed.length > 0) await pushes.toEndpoints(sql, application, changed)
  }
  bus.handle('software.endpoints-matched', EndpointsMatched, matchesChanged)
  bus.handle('software.endpoints-unmatched', EndpointsUnmatched, matchesChanged)

  bus.subscribe(SoftwareChanged, pushes.toApplication)
}
