/** Locks addresses after too many wrong credentials or tokens; counted separately from user logins. */
import { networkOf } from '../kernel/client-address.ts'
import { monotonicMs } from '../kernel/clock.ts'
import { createLockout, type LockoutRule } from '../kernel/lockout.ts'

/** `secret` is the presented token, or a digest of the presented credentials. */
export interface AddressLockout {
  /** Returns the seconds until the address is served again; 0 for secrets that were correct from there before. */
  lockedFor(address: string, secret: string): number
  failed(address: string, secret: string): void
  succeeded(address: string, secret: string): void
}

const correctMax = 100_000

/** Locks an address (IPv6: its /64). Each node counts its own, in memory. */
export function createAddressLockout(rule: LockoutRule, nowMs = monotonicMs): AddressLockout {
  const lockout = createLockout(rule, { nowMs })
  const correct = new Set<string>()
  return {
    lockedFor(address, secret) {
      const network = networkOf(address)
      const seconds = lockout.lockedSeconds(network)
      return seconds > 0 && correct.has(`${network} ${secret}`) ? 0 : seconds
    },
    succeeded(address, secret) {
      const entry = `${networkOf(address)} ${secret}`
      // Insert the entry again, so that the least recently presented one is evicted first.
      correct.delete(entry)
      correct.add(entry)
      if (correct.size > correctMax) correct.delete(correct.values().next().value!)
    },
    failed: (address, secret) => lockout.recordFailure(networkOf(address), secret),
  }
}
