import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted } from '../applications/events.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { NumbersRemoved } from './events.ts'
import type { TimeSeriesService } from './service.ts'

export function registerEventHandlers(bus: Bus, { deletions, caches }: TimeSeriesService) {
  bus.handle('time-series.forget-endpoints', EndpointUnregistered, deletions.endpoints)
  bus.handle('time-series.forget-application', ApplicationDeleted, deletions.application)
  bus.handle('time-series.forget-tenant', TenantDeleted, deletions.tenant)
  bus.subscribe(EndpointUnregistered, caches.invalidateNumbers)
  bus.subscribe(NumbersRemoved, caches.invalidateNumbers)
  bus.onReset(caches.invalidateAll)
}
