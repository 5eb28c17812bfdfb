/**
 * Runs bcrypt on libuv's threads, at most two at a time, because the process has only four of these threads. Each tenant has a queue, and
 * the queues take turns, so that many logins in one tenant do not block other tenants. If a queue is full, the login gets 429.
 */
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import { createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import { HashingBusy } from './errors.ts'

export interface Hashing {
  hash(queue: string, password: string): Promise<string>
  matches(queue: string, password: string, hash: string): Promise<boolean>
  /** Returns the number of queued checks. */
  queuedCount(): number
  /**
   * A hash that no password matches. It is checked for unknown usernames, so that logins with unknown usernames take as long as logins with
   * known usernames.
   */
  dummyHash: string
}

/** Maximum number of hashes at a time. One core stays free for the event loop. The identity service also uses two of libuv's threads. */
const concurrentMax = Math.min(2, Math.max(1, availableParallelism() - 1))
const defaults = { queuedPerTenantMax: 128, queuedMax: 1024 }

/** @param rounds binary logarithm of the cost; 10 takes about 70 ms of a core */
export function createHashing(rounds: number, { queuedPerTenantMax, queuedMax } = defaults): Hashing {
  const limit = createConcurrencyLimit({
    total: concurrentMax,
    waitingPerTenant: queuedPerTenantMax,
    waitingTotal: queuedMax,
    waitMs: Number.POSITIVE_INFINITY,
    rejection: () => HashingBusy({}, { headers: { 'retry-after': '2' } }),
  })

  return {
    hash: (queue, password) => limit.run(queue, () => bcrypt.hash(password, rounds)),
    matches: (queue, password, hash) => limit.run(queue, () => bcrypt.compare(password, hash)),
    queuedCount: () => limit.waiting,
    dummyHash: bcrypt.hashSync('', 4).replace('$04$', () => `$${String(rounds).padStart(2, '0')}$`),
  }
}
