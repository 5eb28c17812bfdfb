import { contract } from '../../kernel/contract.ts'

export interface Tenants {
  /** The built-in tenants `platform` and `default`: there and AVAILABLE when this returns. Safe to repeat. */
  ensureBuiltIn(tenantId: string): Promise<void>
  /** What its package says of the bytes that it may keep; 0: nothing, or there is no such tenant. */
  diskSizeOf(tenantId: string): Promise<number>
}
export const Tenants = contract<Tenants>('tenants')
