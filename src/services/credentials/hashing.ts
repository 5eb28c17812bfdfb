/**
 * bcrypt, off the main thread and with manners. It runs on libuv's threads (bcrypt's asynchronous calls), of which there
 * are four for everything in the process: a few at once, the rest in line. Each tenant has a line of its own and
 * they take turns, so that a flood of logins of one does not keep out the others; who overruns its line is told so.
 */
import { availableParallelism } from 'node:os'
import bcrypt from 'bcrypt'
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
  const lines = new Map<string, (() => void)[]>()
  let waiting = 0
  let busy = 0

  function next() {
    const [first] = lines
    if (!first) {
      busy--
      return
    }
    const [name, line] = first
    waiting--
    // To the end of the round: a Map keeps the order of insertion.
    lines.delete(name)
    const start = line.shift()
    if (line.length > 0) lines.set(name, line)
    start?.() // whoever leaves hands over the place
  }

  async function enter<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (busy >= atOnce) {
      const line = lines.get(name) ?? []
      if (line.length >= inLineMax || waiting >= inLinesMax) throw HashingBusy({}, { headers: { 'retry-after': '2' } })
      waiting++
      lines.set(name, line)
      await new Promise<void>((resolve) => line.push(resolve))
    } else busy++
    try {
      return await work()
    } finally {
      next()
    }
  }

  return {
    hash: (line, password) => enter(line, () => bcrypt.hash(password, rounds)),
    matches: (line, password, hash) => enter(line, () => bcrypt.compare(password, hash)),
    waiting: () => waiting,
    nobodys: bcrypt.hashSync('', 4).replace('$04$', () => `$${String(rounds).padStart(2, '0')}$`),
  }
}
