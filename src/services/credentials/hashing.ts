/**
 * bcrypt, off the main thread and with manners. It runs on libuv's threads (bcrypt's asynchronous calls), of which there
 * are four for everything in the process: a few at once, the rest in line. Each tenant has a line of its own and
 * they take turns, so that a flood of logins of one does not keep out the others; who overruns its line is told so.
 */
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
import { createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import { HashingBusy } from './errors.ts'

export interface Hashing {
  hash(line: string, password: string): Promise<string>
  matches(line: string, password: string, hash: string): Promise<boolean>
  /** How many are in line. */
  waiting(): number
  /** Of a password that nobody has: the check of a username that does not exist takes as long as any other. */
  nobodys: string
}

/** One core stays free for the event loop; the identity service's password checks use two of libuv's threads too. */
const atOnce = Math.min(2, Math.max(1, availableParallelism() - 1))
const defaults = { inLineMax: 128, inLinesMax: 1024 }

/** @param rounds two to the power of this; 10 are about 70 ms of a core */
export function createHashing(rounds: number, { inLineMax, inLinesMax } = defaults): Hashing {
  const limit = createConcurrencyLimit({
    total: atOnce,
    waitingPerTenant: inLineMax,
    waitingTotal: inLinesMax,
    waitMs: Number.POSITIVE_INFINITY,
    refusal: () => HashingBusy({}, { headers: { 'retry-after': '2' } }),
  })

  return {
    hash: (line, password) => limit.run(line, () => bcrypt.hash(password, rounds)),
    matches: (line, password, hash) => limit.run(line, () => bcrypt.compare(password, hash)),
    waiting: () => limit.waiting,
    nobodys: bcrypt.hashSync('', 4).replace('$04$', () => `$${String(rounds).padStart(2, '0')}$`),
  }
}
