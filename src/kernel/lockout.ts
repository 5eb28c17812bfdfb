/**
 * Locks a key (an account, an address) after too many wrong attempts, each time for longer. It counts in the memory of the process;
 * lockout-rows.ts counts in the database, for all nodes, by the same rule.
 */
import { monotonicMs } from './clock.ts'

export interface LockoutRule {
  /** Wrong attempts within a window; the last of them locks. */
  limit: number
  windowSeconds: number
  /** Duration of the first lock; each further one takes twice as long. */
  lockSeconds: number
}

/** A day after the last wrong attempt, the duration of locks starts again at the first one. */
export const forgetLocksSeconds = 86_400
export const doublingsMax = 10

export interface Lockout {
  /** Returns the seconds until the key is unlocked; 0 if it is not locked. */
  lockedSeconds(key: string): number
  /**
   * Counts a wrong attempt, also while the key is locked, because many may be in progress when the lock begins.
   * @param what the attempted value; the first few are remembered, and repeating them within the window does not count
   */
  recordFailure(key: string, what?: string): void
  /** Forgets all wrong attempts and locks of the key. */
  reset(key: string): void
}

interface Entry {
  failures: number
  windowStartedAt: number
  lockedUntil: number
  locks: number
  failedAt: number
  repeatable: Set<string>
}

const never = Number.NEGATIVE_INFINITY
const repeatableMax = 16
/** Longer values are not remembered, to save memory. */
const repeatableLengthMax = 200

export function createLockout(rule: LockoutRule, { keysMax = 20_000, nowMs = monotonicMs } = {}): Lockout {
  const entries = new Map<string, Entry>()
  const windowMs = rule.windowSeconds * 1000

  function touch(key: string, at: number): Entry {
    const entry = entries.get(key) ?? newEntry(at)
    // Inserted again, so that the key whose last attempt is oldest is evicted first.
    entries.delete(key)
    entries.set(key, entry)
    if (entries.size > keysMax) entries.delete(entries.keys().next().value!)
    return entry
  }

  return {
    lockedSeconds(key) {
      const entry = entries.get(key)
      return entry ? Math.max(0, Math.ceil((entry.lockedUntil - nowMs()) / 1000)) : 0
    },
    recordFailure(key, what) {
      const at = nowMs()
      const entry = touch(key, at)
      const isNewWindow = at - entry.windowStartedAt >= windowMs
      if (isNewWindow) entry.repeatable.clear()
      if (what !== undefined && isRepeated(entry, what)) return
      const lockIsOver = entry.lockedUntil <= at
      if (isNewWindow || (lockIsOver && entry.lockedUntil !== never)) {
        entry.failures = 0
        entry.windowStartedAt = at
        if (lockIsOver) entry.lockedUntil = never
      }
      if (at - entry.failedAt > forgetLocksSeconds * 1000) entry.locks = 0
      entry.failedAt = at
      if (++entry.failures < rule.limit) return
      entry.failures = 0
      entry.lockedUntil = at + rule.lockSeconds * 1000 * 2 ** Math.min(entry.locks++, doublingsMax)
    },
    reset: (key) => void entries.delete(key),
  }
}

const newEntry = (at: number): Entry => ({
  failures: 0,
  windowStartedAt: at,
  lockedUntil: never,
  locks: 0,
  failedAt: at,
  repeatable: new Set(),
})

function isRepeated({ repeatable }: Entry, what: string): boolean {
  if (repeatable.has(what)) return true
  if (repeatable.size < repeatableMax && what.length <= repeatableLengthMax) repeatable.add(what)
  return false
}
