/**
 * Writes samples into the open slot, many in one commit. Rows are only appended: a write whose outcome is unknown is done again, and
 * of two rows with the same time the one that is later in the order of writes counts.
 */
import type { Db, Sql } from '../../../kernel/db.ts'
import { createGroupCommit, type GroupCommit } from '../../../kernel/group-commit.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { copyRows, copySamples, holdOpenSlot, isSlotClosed, isTimeTaken } from '../store/samples.ts'
import { createArrivalTimes } from './arrival-times.ts'
import { createOvertaking } from './overtaking.ts'
import { createRows, numbersOfGroup, type Rows } from './rows.ts'
import type { Slots } from './slots.ts'
import { createTimeClashes } from './time-clashes.ts'
import type { WriteOrder } from './write-order.ts'

export interface Writer extends GroupCommit<Rows> {
  /** The time of a sample that brings none. */
  timeOfArrival(endpointNo: number, arrivedAt: number): number
  /** The place in the order of writes up to which everything that this node wrote is stored. */
  storedUpTo(): Promise<number>
  /** Nothing is being collected or written. */
  isIdle(): boolean
}

export interface WriterOptions {
  db: Db
  order: WriteOrder
  slots: Slots
  log: Log
  metrics: Metrics
  /** In the transaction that stores them, where there is something to do. */
  storing?: { wanted(): boolean; run(sql: Sql, rows: Rows): Promise<void> }
  /** They are durable. */
  stored?(rows: Rows): void
  timeoutMs?: number
  /** For tests: how long a slot is new. */
  newSlotMs?: number
}

const valuesMax = 5000
const everyMs = 15
export const writesAtOnce = 4
const pendingBytesMax = 192 * 1024 * 1024
/** Refusals of one attempt to write: closed slots and times that are taken. */
const refusalsMax = 10

const codeOf = (error: unknown) => (error as { code?: string } | null)?.code
/** What the data would be to blame for. */
const dataTrouble = /^(22|54)/
/** The partition was dropped: its slot was packed, or the database is another one. */
const noSuchTable = '42P01'

export function createWriter(options: WriterOptions): Writer {
  const { db, order, slots, storing } = options
  const arrivals = createArrivalTimes()
  const clashes = createTimeClashes(arrivals, options.newSlotMs)
  const overtaking = createOvertaking()
  const numbers = new WeakMap<Rows, Promise<number>>()
  let lastResolved: Promise<unknown> = Promise.resolve()

  async function numbered(rows: Rows) {
    const asked = numbers.get(rows) ?? order.next()
    numbers.set(rows, asked)
    try {
      rows.first = await asked
    } catch (error) {
      numbers.delete(rows)
      throw error
    }
  }

  async function inTransaction(rows: Rows, again: Rows[], slot: number, isClashing: boolean) {
    for (const one of again) one.first = await order.next()
    await db.tx(async (sql) => {
      await holdOpenSlot(sql, slot)
      if (isClashing) await clashes.resolve(sql, rows, slot)
      await copyRows(sql, slot, rows, false)
      for (const one of again) await copyRows(sql, slot, one, true)
      if (storing?.wanted()) await storing.run(sql, rows)
    })
    for (const one of again) overtaking.stored(one, slot)
  }

  async function writeInto(slot: number, rows: Rows) {
    const again = overtaking.overtook(rows, slot)
    const isClashing = clashes.concern(rows, slot)
    if (again.length === 0 && !isClashing && !storing?.wanted()) return await copySamples(db, slot, rows)
    if (!isClashing) return await inTransaction(rows, again, slot, false)
    // One after the other, so that the times of such an endpoint increase from write to write.
    const work = () => inTransaction(rows, again, slot, true)
    const mine = lastResolved.then(work, work)
    lastResolved = mine.catch(() => {})
    await mine
  }

  async function write(rows: Rows) {
    for (let refusals = 0; ; refusals++) {
      const [slot] = await Promise.all([slots.current(), numbered(rows)])
      try {
        await writeInto(slot, rows)
      } catch (error) {
        const isTaken = isTimeTaken(error)
        if (!isTaken) slots.forget(slot)
        const isRefused = isTaken || isSlotClosed(error) || codeOf(error) === noSuchTable
        if (!isRefused || refusals === refusalsMax) throw error
        if (!isTaken || !(await clashes.learn(db.sql, rows))) continue
      }
      overtaking.stored(rows, slot)
      options.stored?.(rows)
      return
    }
  }

  const commit = createGroupCommit<Rows>({
    name: 'time_series',
    create() {
      const rows = createRows(valuesMax)
      overtaking.began(rows)
      numbers.set(rows, order.next())
      return rows
    },
    write,
    abandoned: overtaking.gaveUp,
    isTemporary: (error) => !dataTrouble.test(codeOf(error) ?? ''),
    log: options.log,
    metrics: options.metrics,
    everyMs,
    concurrentWrites: writesAtOnce,
    pendingBytesMax,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  })

  return {
    ...commit,
    timeOfArrival: arrivals.next,
    async storedUpTo() {
      const now = (await order.position()) + numbersOfGroup - 1
      return Math.min(now, ...overtaking.pending().map((first) => first - 1))
    },
    isIdle: overtaking.isEmpty,
  }
}
