import type { Bus } from '../../kernel/bus.ts'
import { ApplicationDeleted } from '../applications/events.ts'
import { EndpointUnregistered } from '../register/events.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { NumbersRemoved } from './events.ts'
import type { TimeSeriesService } from './service.ts'

export function reactions(bus: Bus, { deletions, caches }: TimeSeriesService) {
  bus.react('time-series.forget-endpoints', EndpointUnregistered, deletions.endpoints)
  bus.react('time-series.forget-application', ApplicationDeleted, deletions.application)
  bus.react('time-series.forget-tenant', TenantDeleted, deletions.tenant)
  bus.hear(EndpointUnregistered, caches.invalidateNumbers)
  bus.hear(NumbersRemoved, caches.invalidateNumbers)
  bus.onGap(caches.invalidateAll)
}
