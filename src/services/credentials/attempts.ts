/**
 * Guesses of a device password, counted apart from those of people (document 3): after so many different wrong ones in
 * the window a username is locked, each time for longer. Counted before the check: a thousand guesses at once are ten
 * guesses. In the memory of each process: a lock keeps no device out whose password was checked here before.
 */
import type { Kit } from '../../kernel/define-service.ts'

export interface Attempts {
  /** False: locked, do not even look. */
  reserve(account: string): boolean
  succeeded(account: string): void
}

interface Record {
  failures: number
  since: number
  lockedUntil: number
  locks: number
}

const accountsMax = 20_000
const dayMs = 86_400_000

export function createAttempts({ now, platform }: Pick<Kit, 'now' | 'platform'>): Attempts {
  const { account: limit, windowSeconds, lockSeconds } = platform.loginLockout
  const accounts = new Map<string, Record>()

  function recordOf(account: string, at: number): Record {
    const known = accounts.get(account) ?? { failures: 0, since: at, lockedUntil: 0, locks: 0 }
    // Inserted anew: the one that was quiet for longest is forgotten first.
    accounts.delete(account)
    accounts.set(account, known)
    if (accounts.size > accountsMax) accounts.delete(accounts.keys().next().value!)
    if (at - known.since > windowSeconds * 1000) Object.assign(known, { failures: 0, since: at })
    if (at - known.lockedUntil > dayMs) known.locks = 0
    return known
  }

  return {
    reserve(account) {
      const at = now().getTime()
      const record = recordOf(account, at)
      if (at < record.lockedUntil) return false
      record.failures++
      if (record.failures < limit) return true
      // This one is still looked at; what comes next is not.
      const seconds = lockSeconds * 2 ** Math.min(record.locks, 10)
      Object.assign(record, { failures: 0, since: at, lockedUntil: at + seconds * 1000, locks: record.locks + 1 })
      return true
    },
    succeeded(account) {
      accounts.delete(account)
    },
  }
}
