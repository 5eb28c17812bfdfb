/**
 * Writes samples into the open slot, many in one commit. Rows are only appended. A write with an unknown outcome is repeated; if times are
 * equal, the higher number wins. Rows that are published are in groups of their own (lanes), so that other tenants do not wait for events
 * of a tenant with rules.
 */
import type { Db, Sql } from '../../../kernel/db.ts'
import { createGroupCommit, type GroupCommit } from '../../../kernel/group-commit.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { copyRows, copySamples, holdAndCopyRows, holdOpenSlot, isSlotClosed, isTimeTaken } from '../store/samples.ts'
import { createArrivalTimes } from './arrival-times.ts'
import { createGroupNumbers, type GroupNumbers } from './group-numbers.ts'
import { createOutOfOrderWrites, type OutOfOrderWrites } from './out-of-order-writes.ts'
import { createRows, numbersOfGroup, type Rows } from './rows.ts'
import type { Slots } from './slots.ts'
import { createTimeConflicts } from './time-conflicts.ts'
import type { WriteOrder } from './write-order.ts'

/** In the lane `published`, the messages of an endpoint are written one after the other, so that event handlers get them in order. */
export type Lane = 'plain' | 'published'

export interface Writer {
  /**
   * Returns the group for a message. Add its rows, then call `committed`. If an endpoint still has rows in the lane `published`, its next
   * message goes into this lane too. Throws 503 if too many bytes are pending.
   */
  current(lane?: Lane, endpointId?: string): Rows
  /** Resolves when the rows just added to `current` are durable. */
  committed(): Promise<void>
  /**
   * Returns a promise for the end of the endpoint's pending writes in the lane `plain`, or undefined if no write is pending. A message for
   * the lane `published` waits for it, because otherwise the message could be written first.
   */
  plainRowsSettled(endpointNo: number): Promise<void> | undefined
  /** Resolves when no rows are pending. */
  drained(): Promise<void>
  /** Returns the time for a sample without a timestamp. */
  timeOfArrival(endpointNo: number, arrivedAt: number): number
  /** Returns a number in the order of writes up to which everything that this node wrote is stored. */
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
  /** Publishes the received samples of the rows. It runs in the transaction of the rows, before they are written. */
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
/** Interval of the lane `published`. Rules run after the commit of their samples, so after a small write the next write starts earlier. */
const publishedEveryMs = (lastCount: number) => Math.min(everyMs, 5 + lastCount / 20)
const concurrentWrites = { plain: 4, published: 3 }
/** Maximum number of connections, for all writes, for numbers and for latest values. */
export const connectionsMax = concurrentWrites.plain + concurrentWrites.published + 4
const pendingBytesMax = { plain: 192 * 1024 * 1024, published: 96 * 1024 * 1024 }
/** Maximum number of retries for closed slots and conflicting times. */
const retriesMax = 10

const codeOf = (error: unknown) => (error as { code?: string } | null)?.code
/** SQLSTATE classes of errors that the data causes. */
const dataErrors = /^(22|54)/
/** SQLSTATE of a missing table: the partition was dropped, because its slot was packed or the database was restored. */
const undefinedTable = '42P01'

export function createWriter(options: WriterOptions): Writer {
  const { db, order, slots, duringCommit } = options
  const arrivals = createArrivalTimes()
  const conflicts = createTimeConflicts(arrivals, {
    newSlotMs: options.newSlotMs,
    isAlone: options.isAlone ?? (() => false),
  })
  const outOfOrder = createOutOfOrderWrites()
  const numbers = createGroupNumbers(order)

  async function writeInTransaction(rows: Rows, rewritten: Rows[], slot: number, hasConflict: boolean) {
    for (const group of rewritten) await numbers.renew(group)
    await db.tx(async (sql) => {
      if (rows.received.length > 0) await options.publishReceived?.(sql, rows)
      if (hasConflict) await holdOpenSlot(sql, slot).then(() => conflicts.resolve(sql, rows, slot))
      const copied = hasConflict ? copyRows(sql, slot, rows, false) : holdAndCopyRows(sql, slot, rows)
      // If no further statements follow, COMMIT is sent in the same write as the rows. If the copy of the rows fails, COMMIT fails too.
      copied.catch(() => {})
      for (const one of rewritten) await copyRows(sql, slot, one, true)
      if (!duringCommit?.isNeeded(rows)) return
      await copied
      await duringCommit.run(sql, rows)
    })
    for (const one of rewritten) outOfOrder.stored(one, slot)
  }

  async function writeInto(slot: number, rows: Rows, lookups: { last: Promise<unknown> }) {
    const rewritten = outOfOrder.storedTooEarly(rows, slot)
    const hasConflict = conflicts.needLookup(rows, slot)
    if (rewritten.length === 0 && !hasConflict && rows.received.length === 0 && !duringCommit?.isNeeded(rows))
      return await copySamples(db, slot, rows)
    if (!hasConflict) return await writeInTransaction(rows, rewritten, slot, false)
    // Writes with conflicts run one after the other, so that the times of an endpoint increase from write to write.
    const work = () => writeInTransaction(rows, rewritten, slot, true)
    const resolved = lookups.last.then(work, work)
    lookups.last = resolved.catch(() => {})
    await resolved
  }

  async function write(rows: Rows, lookups: { last: Promise<unknown> }) {
    for (let retries = 0; ; retries++) {
      const [slot] = await Promise.all([slots.current(), numbers.assign(rows)])
      try {
        await writeInto(slot, rows, lookups)
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

  const parts = { options, numbers, outOfOrder, write }
  const lanes = { plain: openLane('plain', parts), published: openLane('published', parts) }
  let last = lanes.plain

  return {
    current(lane = 'plain', endpointId) {
      const isPlain = lane === 'plain' && (endpointId === undefined || !lanes.published.isPending(endpointId))
      last = isPlain ? lanes.plain : lanes.published
      return last.current(isPlain ? undefined : endpointId)
    },
    committed: () => last.committed(),
    plainRowsSettled: (endpointNo) =>
      lanes.plain.pending().some(({ endpointNos }) => endpointNos.includes(endpointNo))
        ? lanes.plain.settled()
        : undefined,
    async drained() {
      await Promise.all([lanes.plain.drained(), lanes.published.drained()])
    },
    timeOfArrival: arrivals.next,
    async storedUpTo() {
      const now = (await order.position()) + numbersOfGroup - 1
      return Math.min(now, ...[...outOfOrder.pending(), ...numbers.pending()].map((first) => first - 1))
    },
    isIdle: () => outOfOrder.isEmpty() && numbers.isEmpty(),
  }
}

interface LaneParts {
  options: WriterOptions
  numbers: GroupNumbers
  outOfOrder: OutOfOrderWrites
  write(rows: Rows, lookups: { last: Promise<unknown> }): Promise<void>
}

function openLane(lane: Lane, { options, numbers, outOfOrder, write }: LaneParts): GroupCommit<Rows> {
  const lookups = { last: Promise.resolve() as Promise<unknown> }
  return createGroupCommit<Rows>({
    name: lane === 'plain' ? 'time_series' : 'time_series_published',
    create() {
      const rows = createRows(valuesMax)
      numbers.opened(rows)
      return rows
    },
    async write(rows, attempt) {
      if (attempt === 0) outOfOrder.started(rows)
      await write(rows, lookups)
    },
    abandoned(rows) {
      numbers.abandoned(rows)
      outOfOrder.abandoned(rows)
    },
    isTemporary: (error) => !dataErrors.test(codeOf(error) ?? ''),
    log: options.log,
    metrics: options.metrics,
    everyMs: lane === 'plain' ? everyMs : publishedEveryMs,
    concurrentWrites: concurrentWrites[lane],
    pendingBytesMax: pendingBytesMax[lane],
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  })
}
