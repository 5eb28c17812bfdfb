/** Counts and logs lockouts of all services. */
import type { Log } from './log.ts'
import { createLogLimit } from './log-limit.ts'
import { lockoutBegan } from './log-messages.ts'
import type { Metrics } from './metrics.ts'

/** The kind of lockout: an account at one address, an account at all addresses, or an address. */
export type LockoutKind = 'account-at-address' | 'account' | 'address'
/**
 * The kind of wrong secret: the password of a user, the secret of a client, the password of an MQTT client, or the token of an endpoint.
 */
export type WrongSecret = 'user-password' | 'client-secret' | 'mqtt-credentials' | 'endpoint-token'

export type ReportLockout = (lockout: { kind: LockoutKind; secret: WrongSecret; address?: string }) => void

export function createLockoutReport({ log, metrics }: { log: Log; metrics: Metrics }): ReportLockout {
  const total = metrics.counter(
    'waypost_lockouts_total',
    'Number of lockouts that began after too many wrong passwords, secrets or tokens, by what is locked and what was wrong.',
    ['kind', 'secret'],
  )
  const logLimits = new Map<string, ReturnType<typeof createLogLimit>>()
  return ({ kind, secret, address }) => {
    total.inc({ kind, secret })
    const key = `${kind} ${secret}`
    const limited = logLimits.get(key) ?? createLogLimit()
    logLimits.set(key, limited)
    limited((lockouts) => lockoutBegan(log, { kind, secret, lockouts, ...(address !== undefined && { address }) }))
  }
}
