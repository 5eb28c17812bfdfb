import { contract } from '../../kernel/contract.ts'

export interface Tenants {
  /** The built-in tenants `platform` and `default`: there and AVAILABLE when this returns. Safe to repeat. */
  ensureBuiltIn(tenantId: string): Promise<void>
}
export const Tenants = contract<Tenants>('tenants')
