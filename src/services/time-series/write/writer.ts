/**
 * Writes samples into the open slot, many in one commit. Rows are only appended: a write with an unknown outcome is
 * repeated, and of equal times the later number wins.
 */
import type { Db, Sql } from '../../../kernel/db.ts'
import { createGroupCommit, type GroupCommit } from '../../../kernel/group-commit.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { copyRows, copySamples, holdAndCopyRows, holdOpenSlot, isSlotClosed, isTimeTaken } from '../store/samples.ts'
import { createArrivalTimes } from './arrival-times.ts'
import { createOutOfOrderWrites } from './out-of-order-writes.ts'
import { createRows, numbersOfGroup, type Rows } from './rows.ts'
import type { Slots } from './slots.ts'
import { createTimeConflicts } from './time-conflicts.ts'
import type { WriteOrder } from './write-order.ts'

export interface Writer extends GroupCommit<Rows> {
  /** Returns the time for a sample without a timestamp. */
  timeOfArrival(endpointNo: number, arrivedAt: number): number
  /** Returns the number up to which everything that this node wrote is stored. */
  storedUpTo(): Promise<number>
  /** Returns true if nothing is being collected or written. */
  isIdle(): boolean
}

export interface WriterOptions {
  db: Db
  order: WriteOrder
  slots: Slots
  log: Log
  metrics: Metrics
  /** Publishes the received samples of rows in their transaction, before they are written. */
  publishReceived?(sql: Sql, rows: Rows): Promise<void>
  /** Runs in the transaction that stores the rows, after they are written, if `isNeeded` returns true. */
  duringCommit?: { isNeeded(rows: Rows): boolean; run(sql: Sql, rows: Rows): Promise<void> }
  /** Called when the rows are durable. */
  stored?(rows: Rows): void
  timeoutMs?: number
  /** Overrides the time during which a slot is new, for tests. */
  newSlotMs?: number
  /** Returns whether no other node is alive. */
  isAlone?(): boolean
}

const valuesMax = 5000
const everyMs = 15
/** Rules wait for the commit of their samples, so it starts earlier while the writes are small. */
const rulesEveryMs = 5
export const concurrentWrites = 4
const pendingBytesMax = 192 * 1024 * 1024
/** Maximum number of retries for closed slots and conflicting times. */
const retriesMax = 10

const codeOf = (error: unknown) => (error as { code?: string } | null)?.code
/** SQLSTATE classes of errors that the data causes. */
const dataErrors = /^(22|54)/
/** The partition was dropped: its slot was packed, or the database was restored. */
const undefinedTable = '42P01'

const pauseBefore = ({ isOrdered }: Rows, lastCount: number) =>
  isOrdered ? Math.min(everyMs, rulesEveryMs + lastCount / 20) : everyMs

export function createWriter(options: WriterOptions): Writer {
  const { db, order, slots, duringCommit } = options
  const arrivals = createArrivalTimes()
  const conflicts = createTimeConflicts(arrivals, {
    newSlotMs: options.newSlotMs,
    isAlone: options.isAlone ?? (() => false),
  })
  const outOfOrder = createOutOfOrderWrites()
  const numbers = new WeakMap<Rows, Promise<number>>()
  let lastResolved: Promise<unknown> = Promise.resolve()

  async function assignFirstNumber(rows: Rows) {
    const requested = numbers.get(rows) ?? order.next()
    numbers.set(rows, requested)
    try {
      rows.first = await requested
    } catch (error) {
      numbers.delete(rows)
      throw error
    }
  }

  async function writeInTransaction(rows: Rows, rewritten: Rows[], slot: number, hasConflict: boolean) {
    for (const group of rewritten) group.first = await order.next()
    await db.tx(async (sql) => {
      if (rows.received.length > 0) await options.publishReceived?.(sql, rows)
      if (hasConflict) await holdOpenSlot(sql, slot).then(() => conflicts.resolve(sql, rows, slot))
      const copied = hasConflict ? copyRows(sql, slot, rows, false) : holdAndCopyRows(sql, slot, rows)
      // Without further statements COMMIT follows in the same write as the rows, and fails if their copy fails.
      copied.catch(() => {})
      for (const one of rewritten) await copyRows(sql, slot, one, true)
      if (!duringCommit?.isNeeded(rows)) return
      await copied
      await duringCommit.run(sql, rows)
    })
    for (const one of rewritten) outOfOrder.stored(one, slot)
  }

  async function writeInto(slot: number, rows: Rows) {
    const rewritten = outOfOrder.storedTooEarly(rows, slot)
    const hasConflict = conflicts.needLookup(rows, slot)
    if (rewritten.length === 0 && !hasConflict && rows.received.length === 0 && !duringCommit?.isNeeded(rows))
      return await copySamples(db, slot, rows)
    if (!hasConflict) return await writeInTransaction(rows, rewritten, slot, false)
    // These writes are serialized, so that the times of such an endpoint increase from write to write.
    const work = () => writeInTransaction(rows, rewritten, slot, true)
    const resolved = lastResolved.then(work, work)
    lastResolved = resolved.catch(() => {})
    await resolved
  }

  async function write(rows: Rows) {
    for (let retries = 0; ; retries++) {
      const [slot] = await Promise.all([slots.current(), assignFirstNumber(rows)])
      try {
        await writeInto(slot, rows)
      } catch (error) {
        rows.isRepeated = true
        const isTaken = isTimeTaken(error)
        if (!isTaken) slots.invalidate(slot)
        const isRetryable = isTaken || isSlotClosed(error) || codeOf(error) === undefinedTable
        if (!isRetryable || retries === retriesMax) throw error
        if (!isTaken || !(await conflicts.record(db.sql, rows))) continue
      }
      outOfOrder.stored(rows, slot)
      options.stored?.(rows)
      return
    }
  }

  const commit = createGroupCommit<Rows>({
    name: 'time_series',
    create() {
      const rows = createRows(valuesMax)
      outOfOrder.started(rows)
      numbers.set(rows, order.next())
      return rows
    },
    write,
    abandoned: outOfOrder.abandoned,
    isTemporary: (error) => !dataErrors.test(codeOf(error) ?? ''),
    log: options.log,
    metrics: options.metrics,
    everyMs: pauseBefore,
    concurrentWrites,
    pendingBytesMax,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  })

  return {
    ...commit,
    timeOfArrival: arrivals.next,
    async storedUpTo() {
      const now = (await order.position()) + numbersOfGroup - 1
      return Math.min(now, ...outOfOrder.pending().map((first) => first - 1))
    },
    isIdle: outOfOrder.isEmpty,
  }
}
