/** Deliveries: webhooks and e-mails, stored before they are sent. */
import type { EndedOutcome } from '../actions/executor.ts'

export type DeliveryType = 'webhook' | 'send-email'

/** One attempt, as `metadata.attempts` of the trace shows it. */
export interface Attempt {
  /** ISO 8601. */
  at: string
  durationMs: number
  /** Status of the receiver's response; absent without one. */
  status?: number
  /** Why the attempt failed; absent for the one that succeeded. */
  reason?: string
}

export interface Retries {
  attemptsMax: number
  /** The wait before the second attempt. */
  waitMs: number
  /** Each further wait is this many times the one before. */
  waitFactor: number
}

export type AttemptOutcome =
  | { ok: true; status?: number }
  /** `isFinal`: another attempt would fail in the same way. */
  | { ok: false; status?: number; reason: string; isFinal: boolean }

/** Sends one delivery once. It never throws for an error of the receiver. */
export type Send = (delivery: { id: string; tenantId: string }, content: string) => Promise<AttemptOutcome>

/** Returns the outcome of the action after its last attempt. */
export function outcomeOf(id: string, attempts: readonly Attempt[], last: AttemptOutcome): EndedOutcome {
  const metadata = { deliveryId: id, attempts }
  if (last.ok) return { outcome: 'SUCCESS', metadata }
  const tries = attempts.length === 1 ? '' : ` (attempt ${attempts.length})`
  return { outcome: 'FAILURE', stage: 'ACTION_EXECUTION', reason: last.reason + tries, metadata }
}

/** Returns the wait after this many failed attempts. */
export const waitAfter = ({ waitMs, waitFactor }: Retries, attempts: number) => waitMs * waitFactor ** (attempts - 1)
