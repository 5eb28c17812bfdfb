import { currentCompanion } from '../db/commit-companion.ts'

/** Sets the tenant of the current request's audit record. */
export function setAuditTenant(tenantId: string) {
  const companion = currentCompanion() as { setTenant?(tenantId: string): void } | undefined
  companion?.setTenant?.(tenantId)
}
