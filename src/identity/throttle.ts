/**
 * Wrong passwords and secrets are slowed down and then refused, per account and per address (document 4, section 1).
 * An attempt is counted before it is checked: a thousand guesses at once are ten guesses.
 */
import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import { sleep } from '../kernel/clock.ts'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import * as store from './store/attempts.ts'
import type { Unit } from './unit.ts'

export interface Who {
  /** What is tried: `user\n<tenant>\n<id or name>`, `client\n<tenant>\n<id>`; undefined where only the address counts. */
  account: string | undefined
  address: string
}

/** `wait`: locked, try again in so many seconds. Otherwise tell how it went. */
export type Attempt = { wait: number } | { wait: 0; succeeded(): Promise<void>; failed(): Promise<void> }

export interface Throttle {
  /** Before something slow is checked: counts first. */
  reserve(who: Who): Promise<Attempt>
  /** Before something quick is checked: only looks. */
  look(who: Who): Promise<{ wait: number; known: boolean }>
  /** After something quick was wrong: counts; a `wait` tells that it came too late to be answered. */
  count(who: Who): Promise<{ wait: number }>
  forget(who: Who): Promise<void>
  prune(sql: Sql): Promise<void>
}

/** Each wrong attempt waits a little longer for its answer. */
const slowStepMs = 20
const slowMaxMs = 400

const hash = (text: string) => createHash('sha256').update(text).digest()

/** One household has 2^64 IPv6 addresses: they count as one. */
function networkOf(address: string) {
  if (!isIPv6(address)) return address
  if (address.toLowerCase().startsWith('::ffff:')) return address.slice(7)
  const [head = '', tail = ''] = address.split('%')[0]!.split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail.split(':').filter(Boolean)
  const groups = [...left, ...Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0'), ...right]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

export function createThrottle({ now, settings }: Pick<Kit, 'now' | 'settings'>, unit: Unit): Throttle {
  const { account, address, windowSeconds, lockSeconds } = settings.loginLockout
  const keysOf = (who: Who) => [
    { key: hash(`address\n${networkOf(who.address)}`), limit: address, mine: false },
    ...(who.account === undefined ? [] : [{ key: hash(`account\n${who.account}`), limit: account, mine: true }]),
  ]
  const secondsUntil = (until: Date | undefined) =>
    until ? Math.max(1, Math.ceil((until.getTime() - now().getTime()) / 1000)) : 1
  const slowDown = (failures: number) => sleep(Math.min(slowMaxMs, failures * slowStepMs))

  type Counted = { key: Buffer; mine: boolean; failures: number; locked: boolean }

  /** Both or none: an attempt that is refused for its account does not count against its address. */
  async function countAll(who: Who): Promise<{ wait: number } | Counted[]> {
    const keys = keysOf(who)
    return await unit.tx(async (sql) => {
      const counted: Counted[] = []
      for (const { key, limit, mine } of keys) {
        const result = await store.countAttempt(sql, key, now(), { limit, windowSeconds, lockSeconds })
        if (!result) {
          for (const before of counted) await store.uncountAttempt(sql, before.key, before.locked)
          return { wait: secondsUntil((await store.findAttempts(sql, [key], now())).until) }
        }
        counted.push({ key, mine, ...result })
      }
      return counted
    })
  }

  return {
    async reserve(who) {
      const counted = await countAll(who)
      if (!Array.isArray(counted)) return counted
      return {
        wait: 0,
        succeeded: () =>
          unit.tx(async (sql) => {
            for (const { key, mine, locked } of counted)
              await (mine ? store.forgetAttempts(sql, key) : store.uncountAttempt(sql, key, locked))
          }),
        failed: () => slowDown(Math.max(...counted.filter(({ mine }) => mine).map(({ failures }) => failures))),
      }
    },
    async look(who) {
      const keys = keysOf(who).map(({ key }) => key)
      const found = await store.findAttempts(unit.sql(), keys, now())
      return { wait: found.until ? secondsUntil(found.until) : 0, known: found.known }
    },
    async count(who) {
      const counted = await countAll(who)
      if (!Array.isArray(counted)) return counted
      await slowDown(counted.at(-1)?.failures ?? 0)
      return { wait: 0 }
    },
    async forget(who) {
      for (const { key, mine } of keysOf(who)) if (mine) await store.forgetAttempts(unit.sql(), key)
    },
    prune: (sql) => store.pruneAttempts(sql, now(), windowSeconds),
  }
}
