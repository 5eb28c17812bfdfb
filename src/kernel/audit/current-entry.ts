/** Lets an operation complete the audit record of its request. */
import { type CommitCompanion, currentCompanion } from '../db/commit-companion.ts'

interface OpenEntry extends CommitCompanion {
  setTenant?(tenantId: string): void
  setCreated?(name: string): void
}

/** Sets the tenant of the current request's audit record. */
export function setAuditTenant(tenantId: string) {
  const entry: OpenEntry | undefined = currentCompanion()
  entry?.setTenant?.(tenantId)
}

/** Adds the name of the created object to the path in the record. Without this call, the path is updated after the response. */
export function setAuditCreated(entry: OpenEntry, name: string) {
  entry.setCreated?.(name)
}
