import { currentCompanion } from '../db/commit-companion.ts'
import type { ClaimedRecord } from './record.ts'

/**
 * Takes the audit record of the current request for a statement that several requests share. Returns undefined outside of audited
 * requests, and if the record has been written already. `status` is the expected status of the response.
 */
export function claimRecord(status: number): ClaimedRecord | undefined {
  const companion = currentCompanion() as { claim?(status: number): ClaimedRecord | undefined } | undefined
  return companion?.claim?.(status)
}
