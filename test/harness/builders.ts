import type { Caller } from '../../src/kernel/contract.ts'
import { newId } from '../../src/kernel/ids.ts'
import { everyScope, platformSystem, tenantSystem } from '../../src/kernel/permissions.ts'

/** Returns a caller with these scopes: `aCaller({ tenantId: 'a', on: { 'tenant-system': ['application:read'] } })`. */
export function aCaller(options: { tenantId?: string; id?: string; on?: Record<string, string[]> } = {}): Caller {
  return {
    tenantId: options.tenantId ?? 'default',
    subject: { type: 'user', id: options.id ?? newId() },
    roles: [],
    permissions: Object.entries(options.on ?? {}).map(([resource, scopes]) => ({ resource, scopes: new Set(scopes) })),
  }
}

export const aTenantAdmin = (tenantId = 'default') => aCaller({ tenantId, on: { [tenantSystem]: [everyScope] } })

export const aPlatformAdmin = () => aCaller({ tenantId: 'platform', on: { [platformSystem]: [everyScope] } })
