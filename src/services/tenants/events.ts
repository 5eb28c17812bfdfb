import { defineEvent } from '../../kernel/bus.ts'
import type { TenantStatus } from './states.ts'

export const TenantRegistered = defineEvent<{ tenantId: string }>('tenants.tenant.registered', {
  description: 'A tenant was registered; its realm is being built',
})

export const TenantAvailable = defineEvent<{ tenantId: string }>('tenants.tenant.available', {
  description: 'The realm of a new tenant was built; its users and devices can log in',
})

export const TenantUpdated = defineEvent<{ tenantId: string; changed: string[] }>('tenants.tenant.updated', {
  description: 'Fields of a tenant changed; `changed` contains their names in the API',
})

export const TenantStatusChanged = defineEvent<{ tenantId: string; from: TenantStatus; to: TenantStatus }>(
  'tenants.tenant.status-changed',
  { description: 'The status of a tenant changed; users and devices of AVAILABLE and UPDATING tenants can log in' },
)

export const TenantDeleted = defineEvent<{ tenantId: string }>('tenants.tenant.deleted', {
  description: 'A tenant was deleted; services delete their data of the tenant',
})
