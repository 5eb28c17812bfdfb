/**
 * Wrong passwords and secrets are slowed down and then refused, per account and per address (document 4, section 1).
 * An attempt takes a place before it is checked: a thousand guesses at once are ten guesses. It counts when it is known
 * to be wrong, so right ones lock nobody out, however many come at once; who finds no place is asked to come again.
 */
import { createHash } from 'node:crypto'
import { networkOf } from '../kernel/client-address.ts'
import { sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { attempts } from './store/attempts.ts'
import type { Unit } from './unit.ts'

export interface Who {
  /** What is tried: `user\n<tenant>\n<id or name>`, `client\n<tenant>\n<id>`; undefined where only the address counts. */
  account: string | undefined
  address: string
}

/** Try again in so many seconds. `locked`: after wrong attempts; otherwise too many are being checked at this moment. */
export interface Wait {
  wait: number
  locked: boolean
}

/** Tell how it went; `undecided`: it could not be checked, and counts as nothing. */
export interface Place {
  succeeded(): Promise<void>
  failed(): Promise<void>
  undecided(): Promise<void>
}

export interface Throttle {
  /** Before something slow is checked. */
  reserve(who: Who): Promise<Wait | Place>
  /** Before something quick is checked: only looks. */
  look(who: Who): Promise<{ wait: number; known: boolean }>
  /** After something quick was wrong: counts; a `wait` tells that it came too late to be answered. */
  count(who: Who): Promise<Wait>
  forget(who: Who): Promise<void>
  prune(sql: Sql): Promise<void>
}

/** Each wrong attempt waits a little longer for its answer. */
const slowStepMs = 20
const slowMaxMs = 400

const hash = (text: string) => createHash('sha256').update(text).digest()

export function createThrottle({ now, platform }: Pick<Kit, 'now' | 'platform'>, unit: Unit): Throttle {
  const { account, address, windowSeconds, lockSeconds } = platform.loginLockout
  const keysOf = (who: Who) => [
    { key: hash(`address\n${networkOf(who.address)}`), limit: address, mine: false },
    ...(who.account === undefined ? [] : [{ key: hash(`account\n${who.account}`), limit: account, mine: true }]),
  ]
  const secondsUntil = (until: Date | undefined) =>
    until ? Math.max(1, Math.ceil((until.getTime() - now().getTime()) / 1000)) : 1
  const slowDown = (failures: number) => sleep(Math.min(slowMaxMs, failures * slowStepMs))

  type Key = ReturnType<typeof keysOf>[number]
  const ruleOf = ({ limit }: Key) => ({ limit, windowSeconds, lockSeconds })

  const refusal = async (sql: Sql, key: Buffer): Promise<Wait> => {
    const { until } = await attempts.find(sql, [key], now())
    return { wait: secondsUntil(until), locked: until !== undefined }
  }

  /** All or none: an attempt that is refused for its account does not count against its address. */
  async function takeAll(keys: Key[]): Promise<Wait | undefined> {
    return await unit.tx(async (sql) => {
      for (const [at, one] of keys.entries()) {
        if (await attempts.reserve(sql, one.key, now(), ruleOf(one))) continue
        for (const before of keys.slice(0, at)) await attempts.release(sql, before.key)
        return await refusal(sql, one.key)
      }
      return undefined
    })
  }

  /** How many were wrong by now: for the account, where there is one. */
  const countAll = (keys: Key[]) =>
    unit.tx(async (sql) => {
      let failures = 0
      for (const one of keys) failures = await attempts.fail(sql, one.key, now(), ruleOf(one))
      return failures
    })

  return {
    async reserve(who) {
      const keys = keysOf(who)
      const refused = await takeAll(keys)
      if (refused) return refused
      return {
        succeeded: () =>
          unit.tx(async (sql) => {
            for (const { key, mine } of keys) await (mine ? attempts.forgive(sql, key) : attempts.release(sql, key))
          }),
        failed: async () => slowDown(await countAll(keys)),
        undecided: () =>
          unit.tx(async (sql) => {
            for (const { key } of keys) await attempts.release(sql, key)
          }),
      }
    },
    async look(who) {
      const keys = keysOf(who).map(({ key }) => key)
      const found = await attempts.find(unit.sql(), keys, now())
      return { wait: found.until ? secondsUntil(found.until) : 0, known: found.known }
    },
    async count(who) {
      const keys = keysOf(who)
      const refused = await takeAll(keys)
      if (refused) return refused
      await slowDown(await countAll(keys))
      return { wait: 0, locked: false }
    },
    async forget(who) {
      for (const { key, mine } of keysOf(who)) if (mine) await attempts.forget(unit.sql(), key)
    },
    prune: (sql) => attempts.prune(sql, now(), windowSeconds),
  }
}
