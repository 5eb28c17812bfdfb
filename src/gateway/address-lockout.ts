/** Locks addresses after too many wrong credentials or tokens. These failures are counted separately from failed logins of users. */
import { networkOf } from '../kernel/client-address.ts'
import { monotonicMs } from '../kernel/clock.ts'
import { createLockout, type LockoutRule } from '../kernel/lockout.ts'

/** A lockout of client addresses. `secret` is the presented token with its version, or a digest of the presented credentials. */
export interface AddressLockout {
  /**
   * Returns the seconds until the address is unlocked. Returns 0 for a secret that was correct from this address before, even during a
   * lockout.
   */
  lockedSeconds(address: string, secret: string): number
  recordFailure(address: string, secret: string): void
  recordSuccess(address: string, secret: string): void
}

const correctSecretsMax = 100_000

/** Creates the lockout of addresses. IPv6 addresses are grouped by their /64 network. Each node counts failures on its own, in memory. */
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
      // Insert the entry again, so that the least recently presented entry is evicted first.
      correctSecrets.delete(entry)
      correctSecrets.add(entry)
      if (correctSecrets.size > correctSecretsMax) correctSecrets.delete(correctSecrets.values().next().value!)
    },
    recordFailure: (address, secret) => lockout.recordFailure(networkOf(address), secret),
  }
}
