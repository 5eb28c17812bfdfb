/**
 * Lockout after wrong passwords and secrets. Attempts count for the address, and for the account at this address. The limit for an account
 * at all addresses is far higher, so that one attacker cannot lock out other users. An attempt reserves a slot before it is checked
 * (README).
 */
import { createHash } from 'node:crypto'
import { networkOf } from '../kernel/client-address.ts'
import { sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { fromAllAddresses } from '../kernel/lockout.ts'
import type { LockoutKind } from '../kernel/lockout-report.ts'
import type { AmbientTransaction } from './ambient-transaction.ts'
import { attempts } from './store/attempts.ts'

export interface AttemptKey {
  /** `user\n<tenant>\n<id or name>` or `client\n<tenant>\n<id>`. Undefined if the attempt counts only for its address. */
  account: string | undefined
  address: string
  /** The tenant and the known account, for the audit log. An unknown name is not recorded, because it may be a password. */
  subject?: { tenantId: string; type: 'user' | 'client'; id?: string | undefined; name?: string | undefined }
}

/** The result of a rejected attempt. It was rejected because of a lockout (`locked`), or because too many attempts are in progress. */
export interface Wait {
  /** Seconds until the next attempt. */
  wait: number
  locked: boolean
}

/** A reserved slot. The caller must report the result of the check with exactly one of these functions. */
export interface ReservedAttempt {
  recordSuccess(): Promise<void>
  recordFailure(): Promise<void>
  /** Releases the slot of an attempt that could not be checked. The attempt does not count. */
  release(): Promise<void>
}

export interface LoginLockout {
  /** Reserves a slot before a slow check, such as the check of a password. */
  reserve(attempt: AttemptKey): Promise<Wait | ReservedAttempt>
  /**
   * Reads the state before a fast check, such as the comparison of a client secret, without a reservation. `known` is true if wrong
   * attempts have been counted.
   */
  read(attempt: AttemptKey): Promise<{ wait: number; known: boolean }>
  /** Counts a failed fast check. If `wait` is above 0, a lockout has begun meanwhile, and the attempt gets 429. */
  countFailure(attempt: AttemptKey): Promise<Wait>
  /** Resets the counter of the account at this address. */
  reset(attempt: AttemptKey): Promise<void>
  prune(sql: Sql): Promise<void>
}

/** Delay of the response for each wrong attempt. */
const delayStepMs = 20
const delayMaxMs = 400

const hash = (text: string) => createHash('sha256').update(text).digest()

/** Returns the keys for which an attempt counts, each with its limit. */
function keysFor(attempt: AttemptKey, { account, address }: { account: number; address: number }) {
  const network = networkOf(attempt.address)
  const keyOf = (kind: LockoutKind, text: string, limit: number) => ({
    key: hash(text),
    limit,
    kind,
    isPair: kind === 'account-at-address',
  })
  const ofAddress = keyOf('address', `address\n${network}`, address)
  if (attempt.account === undefined) return [ofAddress]
  return [
    ofAddress,
    keyOf('account-at-address', `pair\n${attempt.account}\n${network}`, account),
    keyOf('account', `account\n${attempt.account}`, account * fromAllAddresses),
  ]
}

function recordEvent(audit: Kit['audit'], { subject, address }: AttemptKey, operation: string) {
  if (!subject) return
  const { tenantId, type, id, name } = subject
  audit.record({ tenantId, operation, actor: { type, id, name }, address })
}

export function createLoginLockout(
  { now, platform, audit, reportLockout }: Pick<Kit, 'now' | 'platform' | 'audit' | 'reportLockout'>,
  transaction: AmbientTransaction,
): LoginLockout {
  const { account, address, windowSeconds, lockSeconds } = platform.loginLockout
  const keysOf = (attempt: AttemptKey) => keysFor(attempt, { account, address })
  const secondsUntil = (until: Date | undefined) =>
    until ? Math.max(1, Math.ceil((until.getTime() - now().getTime()) / 1000)) : 1
  const delay = (failures: number) => sleep(Math.min(delayMaxMs, failures * delayStepMs))

  type Key = ReturnType<typeof keysOf>[number]
  const ruleOf = ({ limit }: Key) => ({ limit, windowSeconds, lockSeconds })

  const readWait = async (sql: Sql, key: Buffer): Promise<Wait> => {
    const { until } = await attempts.find(sql, [key], now())
    return { wait: secondsUntil(until), locked: until !== undefined }
  }

  /**
   * Reserves a slot for every key, or no slot. An attempt that is rejected because of its account therefore does not count for its address.
   */
  async function reserveAll(keys: Key[]): Promise<Wait | undefined> {
    return await transaction.tx(async (sql) => {
      for (const [index, entry] of keys.entries()) {
        if (await attempts.reserve(sql, entry.key, now(), ruleOf(entry))) continue
        for (const reserved of keys.slice(0, index)) await attempts.release(sql, reserved.key)
        return await readWait(sql, entry.key)
      }
      return undefined
    })
  }

  /** Counts a wrong attempt for every key and records it. Returns the greatest count. */
  async function countFailures(attempt: AttemptKey, keys: Key[]): Promise<number> {
    const counts = await transaction.tx(async (sql) => {
      const counts: number[] = []
      for (const entry of keys) counts.push(await attempts.recordFailure(sql, entry.key, now(), ruleOf(entry)))
      return counts
    })
    recordEvent(audit, attempt, 'logins.failed')
    for (const [index, { limit, kind }] of keys.entries()) {
      // The attempt whose count equals the limit reports the lockout. Attempts that were in progress at that moment get greater counts, so
      // the lockout is reported once.
      if (counts[index] !== limit) continue
      recordEvent(audit, attempt, 'logins.locked')
      const secret = attempt.subject?.type === 'user' ? 'user-password' : 'client-secret'
      reportLockout({ kind, secret, address: attempt.address })
    }
    return Math.max(...counts)
  }

  return {
    async reserve(attempt) {
      const keys = keysOf(attempt)
      const rejection = await reserveAll(keys)
      if (rejection) return rejection
      return {
        recordSuccess: () =>
          transaction.tx(async (sql) => {
            for (const { key, isPair } of keys)
              await (isPair ? attempts.recordSuccess(sql, key) : attempts.release(sql, key))
          }),
        recordFailure: async () => delay(await countFailures(attempt, keys)),
        release: () =>
          transaction.tx(async (sql) => {
            for (const { key } of keys) await attempts.release(sql, key)
          }),
      }
    },
    async read(attempt) {
      const keys = keysOf(attempt).map(({ key }) => key)
      const state = await attempts.find(transaction.sql(), keys, now())
      return { wait: state.until ? secondsUntil(state.until) : 0, known: state.known }
    },
    async countFailure(attempt) {
      const keys = keysOf(attempt)
      const rejection = await reserveAll(keys)
      if (rejection) return rejection
      await delay(await countFailures(attempt, keys))
      return { wait: 0, locked: false }
    },
    async reset(attempt) {
      for (const { key, isPair } of keysOf(attempt)) if (isPair) await attempts.remove(transaction.sql(), key)
    },
    prune: (sql) => attempts.prune(sql, now(), windowSeconds),
  }
}
