/**
 * Locks a key (an account or an address) after too many wrong attempts, each time for longer. It counts in the memory of the process.
 * lockout-rows.ts implements the same rule for all nodes, with counts in the database.
 */
import { monotonicMs } from './clock.ts'

export interface LockoutRule {
  /** The key is locked after this many wrong attempts within a window. */
  limit: number
  windowSeconds: number
  /** Duration of the first lock. Each further lock takes twice as long. */
  lockSeconds: number
}

/**
 * The number of wrong attempts that lock an account for all addresses is this many times the number that lock it for one address. The
 * factor is so high that a single attacker can hardly lock out other users.
 */
export const fromAllAddresses = 50

/** After this time without a wrong attempt, the next lock has the duration of the first lock again. */
export const locksResetSeconds = 86_400
export const doublingsMax = 10

export interface Lockout {
  /** Returns the seconds until the key is unlocked; 0 if it is not locked. */
  lockedSeconds(key: string): number
  /**
   * Counts a wrong attempt, even while the key is locked, because many attempts may be in progress when the lock begins.
   * @param attemptedValue the wrong value; the first few of a window are remembered, and repeating them does not count
   */
  recordFailure(key: string, attemptedValue?: string): void
  /** Removes all wrong attempts and locks of the key. */
  reset(key: string): void
}

interface Entry {
  failures: number
  windowStartedAt: number
  lockedUntil: number
  locks: number
  failedAt: number
  knownValues: Set<string>
}

const never = Number.NEGATIVE_INFINITY
const knownValuesMax = 16
/** Maximum length of a remembered value. Longer values would take too much memory. */
const knownValueLengthMax = 200

export interface LockoutOptions {
  keysMax?: number
  nowMs?: () => number
  /** Called when a lock begins. */
  locked?: (key: string) => void
}

export function createLockout(
  rule: LockoutRule,
  { keysMax = 20_000, nowMs = monotonicMs, locked = () => {} }: LockoutOptions = {},
): Lockout {
  const entries = new Map<string, Entry>()
  const windowMs = rule.windowSeconds * 1000

  function touchEntry(key: string, at: number): Entry {
    const entry = entries.get(key) ?? newEntry(at)
    // The key is inserted again, so that the key whose last attempt is oldest is evicted first.
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
    recordFailure(key, attemptedValue) {
      const at = nowMs()
      const entry = touchEntry(key, at)
      const isNewWindow = at - entry.windowStartedAt >= windowMs
      if (isNewWindow) entry.knownValues.clear()
      if (attemptedValue !== undefined && isRepeated(entry, attemptedValue)) return
      const lockIsOver = entry.lockedUntil <= at
      if (isNewWindow || (lockIsOver && entry.lockedUntil !== never)) {
        entry.failures = 0
        entry.windowStartedAt = at
        if (lockIsOver) entry.lockedUntil = never
      }
      if (at - entry.failedAt > locksResetSeconds * 1000) entry.locks = 0
      entry.failedAt = at
      if (++entry.failures < rule.limit) return
      entry.failures = 0
      entry.lockedUntil = at + rule.lockSeconds * 1000 * 2 ** Math.min(entry.locks++, doublingsMax)
      locked(key)
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
  knownValues: new Set(),
})

function isRepeated({ knownValues }: Entry, attemptedValue: string): boolean {
  if (knownValues.has(attemptedValue)) return true
  if (knownValues.size < knownValuesMax && attemptedValue.length <= knownValueLengthMax) knownValues.add(attemptedValue)
  return false
}
