/** Runs checks of open connections, a few at a time. A check that fails is retried with back-off until it succeeds. */
import { setTimeout as delay } from 'node:timers/promises'

export interface RecheckQueue {
  /**
   * Adds a check. It replaces a check of the same subject that has not started yet. A check stays in the queue when its connection closes,
   * and must then return immediately.
   */
  add(subject: unknown, check: () => Promise<void>): void
}

export const recheckTimes = { atOnce: 16, retryMs: 200, retryMsMax: 1000 }

interface Deps {
  /** Called when checks failed, but only at the 1st, 2nd, 4th, 8th … consecutive failure. The checks are retried after `retryInMs`. */
  logFailure(error: unknown, remaining: number, retryInMs: number): void
  stopping: AbortSignal
  times?: typeof recheckTimes
}

export function createRecheckQueue({ logFailure, stopping, times = recheckTimes }: Deps): RecheckQueue {
  const waiting = new Map<unknown, () => Promise<void>>()
  /** Subjects that are being checked. The next check of such a subject waits until the current check ends. */
  const active = new Set<unknown>()
  let running = false

  /**
   * Runs checks until no check waits or a check fails. After a failure the round ends, because all checks fail while the database is
   * unreachable.
   */
  async function round(): Promise<{ succeeded: number; error?: unknown }> {
    const outcome: { succeeded: number; error?: unknown } = { succeeded: 0 }
    const worker = async () => {
      for (const [subject, check] of waiting) {
        if ('error' in outcome || stopping.aborted) return
        if (active.has(subject)) continue
        waiting.delete(subject)
        active.add(subject)
        try {
          await check()
          outcome.succeeded++
        } catch (error) {
          outcome.error = error
          // The failed check goes to the end of the queue, so that a check that always fails does not block other checks.
          if (!waiting.has(subject)) waiting.set(subject, check)
        }
        active.delete(subject)
      }
    }
    await Promise.all(Array.from({ length: times.atOnce }, worker))
    return outcome
  }

  async function run() {
    let failures = 0
    while (waiting.size > 0 && !stopping.aborted) {
      const outcome = await round()
      if (!('error' in outcome) || stopping.aborted) continue
      failures = outcome.succeeded > 0 ? 1 : failures + 1
      const retryMs = Math.min(times.retryMs * 2 ** (failures - 1), times.retryMsMax)
      if (Number.isInteger(Math.log2(failures))) logFailure(outcome.error, waiting.size, retryMs)
      await delay(retryMs, undefined, { ref: false, signal: stopping }).catch(() => {})
    }
    running = false
  }

  return {
    add(subject, check) {
      waiting.set(subject, check)
      if (running) return
      running = true
      // The start is delayed until the end of this turn, so that checks that are added together run together.
      queueMicrotask(run)
    },
  }
}
