/**
 * Group commit: rows added within the same few milliseconds share one write and one commit. An idle writer writes at once; a busy
 * one starts a write every few milliseconds, with a limit of concurrent writes.
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
  /** True if it is large enough to be written without waiting for more. */
  readonly isFull: boolean
  /** True if it is written after all groups of this kind before it, with all their retries. */
  readonly isOrdered?: boolean
}

export interface GroupCommit<G extends Group> {
  /** Returns the group of the next write: add all rows of a message, then call `committed`. Throws 503 if too much is pending. */
  current(): G
  /** Resolves when the rows just added to `current` are durable. */
  committed(): Promise<void>
  /** Resolves when all rows added before this call are written or given up; unlike `drained`, it does not wait for later ones. */
  settled(): Promise<void>
  /** Resolves when no rows are pending. */
  drained(): Promise<void>
}

export interface GroupCommitOptions<G extends Group> {
  /** Prefix in metrics: `traffic_log` becomes `waypost_traffic_log_rows_total`. */
  name: string
  create(): G
  /** Stores all rows or none. `attempt` counts from 0; an earlier attempt may have succeeded without an answer. */
  write(group: G, attempt: number): Promise<void>
  /** Returns whether a retry can succeed. */
  isTemporary(error: unknown): boolean
  /** Called when a group is given up; a write in progress may still succeed. */
  abandoned?(group: G): void
  log: Log
  metrics: Metrics
  /** The time between the starts of two writes. A function gets the next group and the number of rows in the last write. */
  everyMs: number | ((group: G, lastCount: number) => number)
  concurrentWrites: number
  pendingBytesMax: number
  /** Time limit of a write, including retries, while the database is slow or unreachable. */
  timeoutMs?: number
}

interface Batch<G> {
  group: G
  /** The part of the group's size that `pendingBytes` already includes. */
  bytes: number
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
  open: Batch<G> | undefined
  sealed: Batch<G>[]
  /** Writes that are running. */
  flushing: OpenItems<Promise<void>>
  pendingBytes: number
  lastWriteStartedAt: number
  lastCount: number
  /** True while a group that is ordered is being written. */
  isWritingOrdered: boolean
  scheduled: boolean
}

export function createGroupCommit<G extends Group>(options: GroupCommitOptions<G>): GroupCommit<G> {
  const { name, metrics } = options
  const writer: Writer<G> = {
    ...options,
    rowsWritten: metrics.counter(`waypost_${name}_rows_total`, 'Number of rows stored.'),
    failures: metrics.counter(`waypost_${name}_failures_total`, 'Number of failed writes.'),
    open: undefined,
    sealed: [],
    flushing: createOpenItems(),
    pendingBytes: 0,
    lastWriteStartedAt: Number.NEGATIVE_INFINITY,
    lastCount: 0,
    isWritingOrdered: false,
    scheduled: false,
  }
  metrics.gauge(`waypost_${name}_pending_bytes`, 'Number of bytes that wait to be stored.', [], (gauge) =>
    gauge.set(writer.pendingBytes),
  )
  return {
    current: () => current(writer),
    committed: () => committed(writer),
    async settled() {
      const waiting = [writer.open, ...writer.sealed].map((batch) => batch?.promise)
      await Promise.allSettled([...writer.flushing, ...waiting])
    },
    async drained() {
      while (writer.open || writer.sealed.length > 0 || writer.flushing.size > 0) {
        startWrite(writer)
        await Promise.all(writer.flushing)
      }
    },
  }
}

function current<G extends Group>(writer: Writer<G>): G {
  if (writer.pendingBytes > writer.pendingBytesMax) throw DatabaseUnavailable()
  if (writer.open?.settled) {
    writer.abandoned?.(writer.open.group)
    writer.open = undefined
  }
  writer.open ??= newBatch(writer)
  return writer.open.group
}

function committed<G extends Group>(writer: Writer<G>): Promise<void> {
  const batch = writer.open!
  const { bytes, isFull } = batch.group
  writer.pendingBytes += bytes - batch.bytes
  batch.bytes = bytes
  if (isFull) {
    writer.sealed.push(batch)
    writer.open = undefined
  }
  schedule(writer)
  return batch.promise
}

function newBatch<G extends Group>(writer: Writer<G>): Batch<G> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  promise.catch(() => {}) // callers that wait get the error
  const group = writer.create()
  const batch: Batch<G> = {
    group,
    bytes: 0,
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
  return batch
}

function schedule<G extends Group>(writer: Writer<G>) {
  const { scheduled, flushing, concurrentWrites, sealed, open, lastWriteStartedAt, lastCount, everyMs } = writer
  const next = sealed[0] ?? open
  if (scheduled || flushing.size >= concurrentWrites || !next || mustWait(writer, next)) return
  writer.scheduled = true
  const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs(next.group, lastCount)
  const waitMs = sealed.length > 0 ? 0 : lastWriteStartedAt + pauseMs - monotonicMs()
  if (waitMs > 0) setTimeout(startWrite, waitMs, writer)
  else setImmediate(startWrite, writer)
}

const mustWait = <G extends Group>({ isWritingOrdered }: Writer<G>, { group }: Batch<G>) =>
  isWritingOrdered && group.isOrdered === true

function startWrite<G extends Group>(writer: Writer<G>) {
  writer.scheduled = false
  const batch = writer.sealed[0] ?? writer.open
  // The end of the ordered write calls `schedule`.
  if (!batch || mustWait(writer, batch)) return
  if (batch === writer.open) writer.open = undefined
  else writer.sealed.shift()
  const { isOrdered = false, count } = batch.group
  writer.lastWriteStartedAt = monotonicMs()
  writer.lastCount = count
  writer.isWritingOrdered ||= isOrdered
  const flush = write(writer, batch).finally(() => {
    remove()
    if (isOrdered) writer.isWritingOrdered = false
    schedule(writer)
  })
  const remove = writer.flushing.add(flush)
  schedule(writer)
}

/** Writes a batch; retries until it succeeds, the error is permanent, or the time limit is reached. */
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
