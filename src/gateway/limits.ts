/**
 * Nobody slows the others. Traffic: whoever sends more than the rate is read later (MQTT) or told to come later (HTTP). Wrong
 * credentials and tokens: counted for each address, apart from people's logins.
 */
import { networkOf } from '../kernel/client-address.ts'
import { monotonicMs } from '../kernel/clock.ts'
import { createLockout, type LockoutRule } from '../kernel/lockout.ts'
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

/** `what` was presented: a token or a password. */
export interface Guesses {
  /** Seconds until this address is served again; 0: now. What was right from there before is served all the time. */
  lockedFor(address: string, what: string): number
  wrong(address: string, what: string): void
  right(address: string, what: string): void
}

const provenMax = 100_000

/** Wrong tokens or credentials lock an address (IPv6: its /64). In memory: each node counts its own. */
export function createGuesses(rule: LockoutRule, nowMs = monotonicMs): Guesses {
  const lockout = createLockout(rule, { nowMs })
  const proven = new Set<string>()
  return {
    lockedFor(address, what) {
      const network = networkOf(address)
      const seconds = lockout.lockedFor(network)
      return seconds > 0 && proven.has(`${network} ${what}`) ? 0 : seconds
    },
    right(address, what) {
      const entry = `${networkOf(address)} ${what}`
      // Inserted anew, so that the one that was not presented for longest is evicted first.
      proven.delete(entry)
      proven.add(entry)
      if (proven.size > provenMax) proven.delete(proven.values().next().value!)
    },
    wrong: (address, what) => lockout.failed(networkOf(address), what),
  }
}
