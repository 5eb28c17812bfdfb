/**
 * Group commit: rows added within the same few milliseconds share one write and one commit. An idle writer writes immediately; a busy
 * writer starts a write every few milliseconds. While a group with rows of a key is being written, further rows of this key go into a group
 * that follows it.
 */
import { monotonicMs, sleep } from './clock.ts'
import { DatabaseUnavailable } from './errors.ts'
import type { Log } from './log.ts'
import { writeFailed, writeTimedOut } from './log-messages.ts'
import type { Metrics } from './metrics.ts'
import { createOpenItems, type OpenItems } from './open-items.ts'

/** The rows of one write. */
export interface Group {
  readonly count: number
  /** Approximate size in memory. */
  readonly bytes: number
  /** True if the group is large enough to be written without waiting for more rows. */
  readonly isFull: boolean
}

export interface GroupCommit<G extends Group> {
  /**
   * Returns the group of the next write. Add all rows of a message to it, then call `committed`. Rows of one key are stored in the order of
   * the calls. Throws 503 if too many bytes are pending.
   */
  current(key?: string): G
  /** Resolves when the rows that the caller has added to `current` are durable. */
  committed(): Promise<void>
  /** Returns whether rows of this key wait or are being written. */
  isPending(key: string): boolean
  /** Returns the groups that wait or are being written. */
  pending(): G[]
  /**
   * Resolves when all rows added before this call are written or given up. Unlike `drained`, it does not wait for rows that are added
   * later.
   */
  settled(): Promise<void>
  /** Resolves when no rows are pending. */
  drained(): Promise<void>
}

export interface GroupCommitOptions<G extends Group> {
  /** Prefix in metrics: `traffic_log` becomes `waypost_traffic_log_rows_total`. */
  name: string
  create(): G
  /** Stores all rows or no row. `attempt` counts from 0. An earlier attempt may have stored the rows although its answer was lost. */
  write(group: G, attempt: number): Promise<void>
  /** Returns whether a retry can succeed. */
  isTemporary(error: unknown): boolean
  /** Called when the writer gives up a group. A write in progress may still succeed. */
  abandoned?(group: G): void
  log: Log
  metrics: Metrics
  /** The time between the starts of two writes, or a function of the number of rows in the last write. */
  everyMs: number | ((lastCount: number) => number)
  concurrentWrites: number
  pendingBytesMax: number
  /** Time limit of a write, including retries, while the database is slow or unreachable. */
  timeoutMs?: number
}

interface Batch<G> {
  group: G
  /** The part of the group's size that is already included in `pendingBytes`. */
  bytes: number
  keys: Set<string>
  /** True once no more rows can be added. */
  isClosed: boolean
  /** The batch that is written after this batch, with further rows of its keys. */
  follower: Batch<G> | undefined
  isFollower: boolean
  promise: Promise<void>
  settle(error?: unknown): void
  /** True once its callers have got a result. */
  settled: boolean
}

const pauseMaxMs = 2000
const defaultTimeoutMs = 30_000

/** The state of a writer: its options, metrics and batches. */
interface Writer<G extends Group> extends GroupCommitOptions<G> {
  rowsWritten: ReturnType<Metrics['counter']>
  failures: ReturnType<Metrics['counter']>
  /** Batches that have not ended, in the order of their creation. */
  batches: Batch<G>[]
  open: Batch<G> | undefined
  /** Batches that can be written immediately, in the order of their creation. */
  ready: Batch<G>[]
  /** The batch of the last call of `current`. */
  last: Batch<G> | undefined
  /** Writes that are running. */
  flushing: OpenItems<Promise<void>>
  pendingBytes: number
  /** The time at which the last write of a batch that is not a follower started. */
  lastWriteStartedAt: number
  lastCount: number
  isStarting: boolean
  timer: NodeJS.Timeout | undefined
}

export function createGroupCommit<G extends Group>(options: GroupCommitOptions<G>): GroupCommit<G> {
  const { name, metrics } = options
  const writer: Writer<G> = {
    ...options,
    rowsWritten: metrics.counter(`waypost_${name}_rows_total`, 'Number of rows stored.'),
    failures: metrics.counter(`waypost_${name}_failures_total`, 'Number of failed writes.'),
    batches: [],
    open: undefined,
    ready: [],
    last: undefined,
    flushing: createOpenItems(),
    pendingBytes: 0,
    lastWriteStartedAt: Number.NEGATIVE_INFINITY,
    lastCount: 0,
    isStarting: false,
    timer: undefined,
  }
  metrics.gauge(`waypost_${name}_pending_bytes`, 'Number of bytes that wait to be stored.', [], (gauge) =>
    gauge.set(writer.pendingBytes),
  )
  return {
    current: (key) => current(writer, key),
    committed: () => committed(writer),
    isPending: (key) => lastOfKey(writer, key) !== undefined,
    pending: () => writer.batches.map(({ group }) => group),
    async settled() {
      await Promise.allSettled([...writer.flushing, ...writer.batches.map((batch) => batch.promise)])
    },
    async drained() {
      while (writer.batches.length > 0) {
        startWrite(writer)
        await Promise.all(writer.flushing)
      }
    },
  }
}

function current<G extends Group>(writer: Writer<G>, key: string | undefined): G {
  if (writer.pendingBytes > writer.pendingBytesMax) throw DatabaseUnavailable()
  const before = key === undefined ? undefined : lastOfKey(writer, key)
  const batch = before && before !== writer.open ? batchAfter(writer, before) : openBatch(writer)
  if (key !== undefined) batch.keys.add(key)
  writer.last = batch
  return batch.group
}

const lastOfKey = <G extends Group>({ batches }: Writer<G>, key: string) =>
  batches.length === 0 ? undefined : batches.findLast(({ keys }) => keys.has(key))

function openBatch<G extends Group>(writer: Writer<G>): Batch<G> {
  if (writer.open?.settled) {
    const expired = writer.open
    writer.open = undefined
    writer.abandoned?.(expired.group)
    end(writer, expired)
  }
  writer.open ??= takeReady(writer) ?? newBatch(writer, false)
  return writer.open
}

/**
 * Takes a batch that still waits for a free connection out of `ready`, to add further rows to it. While the database is slow, there are
 * then few large writes instead of many small writes.
 */
function takeReady<G extends Group>({ ready }: Writer<G>): Batch<G> | undefined {
  const index = ready.findIndex(({ isClosed, settled }) => !isClosed && !settled)
  return index === -1 ? undefined : ready.splice(index, 1)[0]
}

/** Returns the batch for further rows of a key whose last rows are in `before`. */
function batchAfter<G extends Group>(writer: Writer<G>, before: Batch<G>): Batch<G> {
  if (!before.isClosed && !before.settled) return before
  before.follower ??= newBatch(writer, true)
  return batchAfter(writer, before.follower)
}

function committed<G extends Group>(writer: Writer<G>): Promise<void> {
  const batch = writer.last!
  const { bytes, isFull } = batch.group
  writer.pendingBytes += bytes - batch.bytes
  batch.bytes = bytes
  if (isFull) {
    batch.isClosed = true
    if (batch === writer.open) {
      writer.open = undefined
      makeReady(writer, batch)
    }
  }
  schedule(writer)
  return batch.promise
}

function makeReady<G extends Group>({ batches, ready }: Writer<G>, batch: Batch<G>) {
  const no = batches.indexOf(batch)
  const at = ready.findIndex((other) => batches.indexOf(other) > no)
  ready.splice(at === -1 ? ready.length : at, 0, batch)
}

function newBatch<G extends Group>(writer: Writer<G>, isFollower: boolean): Batch<G> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  promise.catch(() => {}) // The callers that wait get the error.
  const group = writer.create()
  const batch: Batch<G> = {
    group,
    bytes: 0,
    keys: new Set(),
    isClosed: false,
    follower: undefined,
    isFollower,
    promise,
    settled: false,
    settle(error) {
      if (batch.settled) return
      batch.settled = true
      clearTimeout(timeout)
      writer.pendingBytes -= batch.bytes
      if (error === undefined) resolve()
      else reject(error)
    },
  }
  const timeout = setTimeout(() => {
    writeTimedOut(writer.log, { writer: writer.name, rows: group.count })
    batch.settle(DatabaseUnavailable())
  }, writer.timeoutMs ?? defaultTimeoutMs)
  writer.batches.push(batch)
  return batch
}

function schedule<G extends Group>(writer: Writer<G>) {
  if (writer.isStarting || writer.flushing.size >= writer.concurrentWrites) return
  if (writer.timer && writer.ready.length === 0) return
  const next = nextBatch(writer)
  if (!next) return
  const waitMs = next === writer.open ? msUntilDue(writer) : 0
  if (waitMs > 0) {
    writer.timer = setTimeout(timeIsUp, waitMs, writer)
    return
  }
  clearTimeout(writer.timer)
  writer.timer = undefined
  writer.isStarting = true
  setImmediate(startWrite, writer)
}

function timeIsUp<G extends Group>(writer: Writer<G>) {
  writer.timer = undefined
  schedule(writer)
}

/** Returns the oldest batch that can be written. The open batch is not returned before it is due. */
function nextBatch<G extends Group>(writer: Writer<G>): Batch<G> | undefined {
  const { batches, open, ready } = writer
  const first = ready[0]
  if (!first || !open) return first ?? open
  return batches.indexOf(open) < batches.indexOf(first) && msUntilDue(writer) <= 0 ? open : first
}

/** Returns the milliseconds until the open batch is due. Returns 0 for less than one millisecond, because a timer cannot be shorter. */
function msUntilDue<G extends Group>({ open, everyMs, lastCount, lastWriteStartedAt }: Writer<G>): number {
  // The rows of a follower have already waited for the batch before it.
  if (open?.isFollower) return 0
  const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs(lastCount)
  const waitMs = lastWriteStartedAt + pauseMs - monotonicMs()
  return waitMs < 1 ? 0 : waitMs
}

function startWrite<G extends Group>(writer: Writer<G>) {
  writer.isStarting = false
  const batch = nextBatch(writer)
  if (!batch) return
  if (batch === writer.open) writer.open = undefined
  else writer.ready.shift()
  batch.isClosed = true
  if (!batch.isFollower) {
    writer.lastWriteStartedAt = monotonicMs()
    writer.lastCount = batch.group.count
  }
  const flush = write(writer, batch).finally(() => {
    remove()
    end(writer, batch)
    schedule(writer)
  })
  const remove = writer.flushing.add(flush)
  schedule(writer)
}

/** Removes a batch that is written or given up, and lets its follower start. */
function end<G extends Group>(writer: Writer<G>, batch: Batch<G>) {
  writer.batches.splice(writer.batches.indexOf(batch), 1)
  const { follower } = batch
  if (follower) makeReady(writer, follower)
}

/** Writes a batch. Retries until the write succeeds, the error is permanent, or the time limit is reached. */
async function write<G extends Group>(writer: Writer<G>, batch: Batch<G>) {
  const { name, log, rowsWritten, failures } = writer
  for (let attempt = 0; !batch.settled; attempt++) {
    try {
      await writer.write(batch.group, attempt)
      rowsWritten.inc(batch.group.count)
      return batch.settle()
    } catch (error) {
      failures.inc()
      const retrying = writer.isTemporary(error)
      writeFailed(log, { err: error, writer: name, rows: batch.group.count, retrying })
      if (!retrying) batch.settle(error)
      else await sleep(Math.min(pauseMaxMs, 50 * 2 ** attempt))
    }
  }
  writer.abandoned?.(batch.group)
}
