/** Deliveries: webhooks and e-mails that are sent in the background, in one or more attempts. */
import type { EndedOutcome } from '../actions/executor.ts'

export type DeliveryType = 'webhook' | 'send-email'

/** One attempt, as it appears in `metadata.attempts` of the trace. */
export interface Attempt {
  /** Start of the attempt, in ISO 8601. */
  at: string
  durationMs: number
  /** Status of the receiver's response; absent if there was no response. */
  status?: number
  /** The reason why the attempt failed; absent if it succeeded. */
  reason?: string
}

export interface Retries {
  attemptsMax: number
  /** The wait before the second attempt. */
  waitMs: number
  /** Each further wait is the previous wait multiplied by this factor. */
  waitFactor: number
}

export type AttemptOutcome =
  | { ok: true; status?: number }
  /** `isFinal` is true if another attempt would fail in the same way. */
  | { ok: false; status?: number; reason: string; isFinal: boolean }

/** Makes one attempt to send a delivery. An error of the receiver is returned as an outcome, not thrown. */
export type Send = (delivery: { id: string; tenantId: string }, content: string) => Promise<AttemptOutcome>

/** Returns the outcome of the action after its last attempt. */
export function outcomeOf(id: string, attempts: readonly Attempt[], last: AttemptOutcome): EndedOutcome {
  const metadata = { deliveryId: id, attempts }
  if (last.ok) return { outcome: 'SUCCESS', metadata }
  const tries = attempts.length === 1 ? '' : ` (attempt ${attempts.length})`
  return { outcome: 'FAILURE', stage: 'ACTION_EXECUTION', reason: last.reason + tries, metadata }
}

/** Returns the wait before the next attempt, after this many failed attempts. */
export const waitAfter = ({ waitMs, waitFactor }: Retries, attempts: number) => waitMs * waitFactor ** (attempts - 1)
