/** Locks addresses after too many wrong credentials or tokens; counted separately from user logins. */
import { networkOf } from '../kernel/client-address.ts'
import { monotonicMs } from '../kernel/clock.ts'
import { createLockout, type LockoutRule } from '../kernel/lockout.ts'

/** `secret` is the presented token, or a digest of the presented credentials. */
export interface AddressLockout {
  /** Returns the seconds until the address is unlocked; 0 for secrets that were correct from this address before. */
  lockedSeconds(address: string, secret: string): number
  recordFailure(address: string, secret: string): void
  recordSuccess(address: string, secret: string): void
}

const correctSecretsMax = 100_000

/** Locks an address (IPv6: its /64). Each node counts its own, in memory. */
export function createAddressLockout(
  rule: LockoutRule,
  { nowMs = monotonicMs, locked = () => {} }: { nowMs?: () => number; locked?: (address: string) => void } = {},
): AddressLockout {
  const lockout = createLockout(rule, { nowMs, locked })
  const correctSecrets = new Set<string>()
  return {
    lockedSeconds(address, secret) {
      const network = networkOf(address)
      const seconds = lockout.lockedSeconds(network)
      return seconds > 0 && correctSecrets.has(`${network} ${secret}`) ? 0 : seconds
    },
    recordSuccess(address, secret) {
      const entry = `${networkOf(address)} ${secret}`
      // Insert the entry again, so that the least recently presented one is evicted first.
      correctSecrets.delete(entry)
      correctSecrets.add(entry)
      if (correctSecrets.size > correctSecretsMax) correctSecrets.delete(correctSecrets.values().next().value!)
    },
    recordFailure: (address, secret) => lockout.recordFailure(networkOf(address), secret),
  }
}
