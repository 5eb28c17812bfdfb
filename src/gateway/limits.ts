/**
 * Nobody slows the others. Traffic: whoever sends more than the rate is read later (MQTT) or told to come later (HTTP). Wrong
 * credentials and tokens: counted for each address, apart from people's logins.
 */
import { monotonicMs } from '../kernel/clock.ts'
import { type Bucket, draw, giveBack, newBucket, type Rate } from '../kernel/rate-limit.ts'

/** What a connection or a tenant may send a second, and at once. */
export interface TrafficRate {
  messages: Rate
  bytes: Rate
}

export interface Traffic {
  messages: Bucket
  bytes: Bucket
}

const rateOf = (perSecond: number): Rate => ({ perSecond, burst: perSecond })

export const trafficRate = (messages: number, bytes: number): TrafficRate => ({
  messages: rateOf(messages),
  bytes: rateOf(bytes),
})

export const newTraffic = (rate: TrafficRate): Traffic => ({
  messages: newBucket(rate.messages),
  bytes: newBucket(rate.bytes),
})

/** Counts a message that is handled in any case. Returns the milliseconds until the rate is kept again, 0 while it is. */
export function count(traffic: Traffic, rate: TrafficRate, at: number, bytes: number): number {
  const forMessage = draw(traffic.messages, rate.messages, at)
  const forBytes = draw(traffic.bytes, rate.bytes, at, bytes)
  return forMessage > forBytes ? forMessage : forBytes
}

/** Counts a message unless it has to wait. Returns the milliseconds to wait; the last message before may be of any size. */
export function admit(traffic: Traffic, rate: TrafficRate, at: number, bytes: number): number {
  const wait = Math.max(draw(traffic.messages, rate.messages, at), draw(traffic.bytes, rate.bytes, at, 0))
  if (wait > 0) giveBack(traffic.messages)
  else draw(traffic.bytes, rate.bytes, at, bytes)
  return wait
}

/** `what` was shown: a token, a password; the same again is no guess. */
export interface Guesses {
  /** Seconds until this address is listened to again; 0: now. What was right from there before is listened to all the time. */
  lockedFor(address: string, what: string): number
  wrong(address: string, what: string): void
  right(address: string, what: string): void
}

interface Record {
  failures: number
  since: number
  lockedUntil: number
  locks: number
  /** The first of them, not counted again within the window: a device that repeats one does not lock its neighbours out. */
  repeated: Set<string>
}

const addressesMax = 20_000
const repeatedMax = 16
/** Longer ones are nobody's token. */
const repeatedLengthMax = 200
const provenMax = 100_000
const dayMs = 86_400_000

/** So many wrong ones within the window lock an address, each time for twice as long. In memory: each process counts its own. */
export function createGuesses(rule: { limit: number; windowSeconds: number; lockSeconds: number }): Guesses {
  const records = new Map<string, Record>()
  const proven = new Set<string>()
  return {
    lockedFor(address, what) {
      const record = records.get(address)
      if (!record) return 0
      const seconds = Math.max(0, Math.ceil((record.lockedUntil - monotonicMs()) / 1000))
      return seconds > 0 && proven.has(`${address} ${what}`) ? 0 : seconds
    },
    right(address, what) {
      const entry = `${address} ${what}`
      // Inserted anew: the one that was not shown for longest is forgotten first.
      proven.delete(entry)
      proven.add(entry)
      if (proven.size > provenMax) proven.delete(proven.values().next().value!)
    },
    wrong(address, what) {
      const at = monotonicMs()
      const record = records.get(address) ?? { failures: 0, since: at, lockedUntil: 0, locks: 0, repeated: new Set() }
      // Inserted anew: the one that was quiet for longest is forgotten first.
      records.delete(address)
      records.set(address, record)
      if (records.size > addressesMax) records.delete(records.keys().next().value!)
      if (at - record.since > rule.windowSeconds * 1000) {
        record.failures = 0
        record.since = at
        record.repeated.clear()
      }
      if (record.repeated.has(what)) return
      if (record.repeated.size < repeatedMax && what.length <= repeatedLengthMax) record.repeated.add(what)
      if (at - record.lockedUntil > dayMs) record.locks = 0
      if (++record.failures < rule.limit) return
      record.failures = 0
      record.lockedUntil = at + rule.lockSeconds * 1000 * 2 ** Math.min(record.locks++, 10)
    },
  }
}
