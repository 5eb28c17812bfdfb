import { contract } from '../../kernel/contract.ts'

export interface Tenants {
  /** Creates a built-in tenant (`platform`, `default`) and makes it AVAILABLE. Can be called repeatedly. */
  ensureBuiltIn(tenantId: string): Promise<void>
  /** Returns the storage quota of the tenant's package in bytes; 0 if the package has no quota or the tenant is unknown. */
  storageQuota(tenantId: string): Promise<number>
}
export const Tenants = contract<Tenants>('tenants')
