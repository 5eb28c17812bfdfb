import { currentCompanion } from '../db/commit-companion.ts'
import type { ClaimedRecord } from './record.ts'

/**
 * Returns the audit record of the current request, for a statement that writes the changes and audit records of several requests. Returns
 * undefined if the request is not audited or the record is already written. `status` is the expected status of the response.
 */
export function claimRecord(status: number): ClaimedRecord | undefined {
  const companion = currentCompanion() as { claim?(status: number): ClaimedRecord | undefined } | undefined
  return companion?.claim?.(status)
}
