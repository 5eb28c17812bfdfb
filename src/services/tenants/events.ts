import { defineEvent } from '../../kernel/bus.ts'
import type { TenantStatus } from './states.ts'

export const TenantRegistered = defineEvent<{ tenantId: string }>('tenants.tenant.registered', {
  description: 'A tenant was registered; its realm is still being built',
})

export const TenantAvailable = defineEvent<{ tenantId: string }>('tenants.tenant.available', {
  description: 'The realm of a new tenant is built: it may log in and talk for the first time',
})

export const TenantUpdated = defineEvent<{ tenantId: string; changed: string[] }>('tenants.tenant.updated', {
  description: 'Fields of a tenant changed; `changed` names them in the words of the interface',
})

export const TenantStatusChanged = defineEvent<{ tenantId: string; from: TenantStatus; to: TenantStatus }>(
  'tenants.tenant.status-changed',
  { description: 'A tenant moved from one status to another; only AVAILABLE tenants log in and talk' },
)

export const TenantDeleted = defineEvent<{ tenantId: string }>('tenants.tenant.deleted', {
  description: 'A tenant was unregistered: whatever a service keeps of it goes too',
})
