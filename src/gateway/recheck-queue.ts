/** Runs checks of open connections, a few at a time. A check that fails is retried with back-off until it succeeds. */
import { setTimeout as delay } from 'node:timers/promises'

export interface RecheckQueue {
  /** Adds a check; it replaces a check of the same subject that has not started. A check of a closed connection returns at once. */
  add(subject: unknown, check: () => Promise<void>): void
}

export const recheckTimes = { atOnce: 16, retryMs: 200, retryMsMax: 1000 }

interface Deps {
  /** Called when checks failed; of consecutive failures, only the 1st, 2nd, 4th, 8th … time. They are retried after `retryInMs`. */
  logFailure(error: unknown, remaining: number, retryInMs: number): void
  stopping: AbortSignal
  times?: typeof recheckTimes
}

export function createRecheckQueue({ logFailure, stopping, times = recheckTimes }: Deps): RecheckQueue {
  const waiting = new Map<unknown, () => Promise<void>>()
  /** Subjects that are being checked; their next check waits for this one. */
  const active = new Set<unknown>()
  let running = false

  /** Runs checks until none waits or one fails. While the database is unreachable, all others would fail, too. */
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
          // The check is added at the end, so that one that always fails does not block the others.
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
      // The start is delayed, so that many checks that are added together run together.
      queueMicrotask(run)
    },
  }
}
