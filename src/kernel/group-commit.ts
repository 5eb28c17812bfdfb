/**
 * Group commit: whoever hands in something within the same few milliseconds shares one write, one commit and one promise. An
 * idle writer writes at once; a busy one begins a write every few milliseconds, a few at a time at most.
 */
import { monotonicMs, sleep } from './clock.ts'
import { Unavailable } from './errors.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

/** What is written together. */
export interface Group {
  readonly count: number
  /** About what it takes in memory. */
  readonly bytes: number
  /** It is large enough to be written without waiting for more. */
  readonly isFull: boolean
}

export interface GroupCommit<G extends Group> {
  /** What the next write takes: add to it, all of a message at once, and ask for `committed`. 503 when too much waits already. */
  current(): G
  /** Of what was just added to `current`: resolves when it is durable. */
  committed(): Promise<void>
  /** When all that was handed in before now is written, or given up; unlike `drained` it ends while others go on. */
  settled(): Promise<void>
  /** When everything that was handed in is written, or given up. */
  drained(): Promise<void>
}

export interface GroupCommitOptions<G extends Group> {
  /** In metrics: `traffic_log` becomes `waypost_traffic_log_rows_total`. */
  name: string
  create(): G
  /** Stores all or nothing. `attempt` counts from 0: one before may have succeeded unheard. */
  write(group: G, attempt: number): Promise<void>
  /** Whether it makes sense to try once more. */
  mayPass(error: unknown): boolean
  /** It is not tried any more; what is on its way may still succeed. */
  abandoned?(group: G): void
  log: Log
  metrics: Metrics
  everyMs: number
  atOnce: number
  pendingBytesMax: number
  /** How long somebody waits for a database that is slow or away. */
  patienceMs?: number
}

interface Batch<G> {
  group: G
  /** As they were counted last. */
  bytes: number
  promise: Promise<void>
  settle(error?: unknown): void
  /** The callers have their result. */
  over: boolean
}

const pauseMaxMs = 2000
const waitMs = 30_000

/** The batches of one writer. */
interface Writer<G extends Group> extends GroupCommitOptions<G> {
  written: ReturnType<Metrics['counter']>
  failed: ReturnType<Metrics['counter']>
  open: Batch<G> | undefined
  sealed: Batch<G>[]
  flushing: Set<Promise<void>>
  pendingBytes: number
  lastBegan: number
  scheduled: boolean
}

export function createGroupCommit<G extends Group>(options: GroupCommitOptions<G>): GroupCommit<G> {
  const { name, metrics } = options
  const writer: Writer<G> = {
    ...options,
    written: metrics.counter(`waypost_${name}_rows_total`, 'Rows that were stored'),
    failed: metrics.counter(`waypost_${name}_failures_total`, 'Writes that did not succeed'),
    open: undefined,
    sealed: [],
    flushing: new Set(),
    pendingBytes: 0,
    lastBegan: Number.NEGATIVE_INFINITY,
    scheduled: false,
  }
  metrics.gauge(`waypost_${name}_pending_bytes`, 'What waits to be stored', [], (gauge) =>
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
        begin(writer)
        await Promise.all(writer.flushing)
      }
    },
  }
}

function current<G extends Group>(writer: Writer<G>): G {
  if (writer.pendingBytes > writer.pendingBytesMax) throw Unavailable()
  if (writer.open?.over) {
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
  promise.catch(() => {}) // callers that wait get the error; a batch without callers has nobody to tell
  const group = writer.create()
  const batch: Batch<G> = {
    group,
    bytes: 0,
    promise,
    over: false,
    settle(error) {
      if (batch.over) return
      batch.over = true
      clearTimeout(timeout)
      writer.pendingBytes -= batch.bytes
      if (error === undefined) resolve()
      else reject(error)
    },
  }
  const timeout = setTimeout(() => {
    writer.log.error(
      { writer: writer.name, rows: group.count },
      'rows could not be written for too long: their callers were refused',
    )
    batch.settle(Unavailable())
  }, writer.patienceMs ?? waitMs)
  return batch
}

function schedule<G extends Group>(writer: Writer<G>) {
  const { scheduled, flushing, atOnce, sealed, open, lastBegan, everyMs } = writer
  if (scheduled || flushing.size >= atOnce || (sealed.length === 0 && !open)) return
  writer.scheduled = true
  const wait = sealed.length > 0 ? 0 : lastBegan + everyMs - monotonicMs()
  if (wait > 0) setTimeout(begin, wait, writer)
  else setImmediate(begin, writer)
}

function begin<G extends Group>(writer: Writer<G>) {
  writer.scheduled = false
  const batch = writer.sealed.shift() ?? writer.open
  if (!batch) return
  if (batch === writer.open) writer.open = undefined
  writer.lastBegan = monotonicMs()
  const flush = write(writer, batch).finally(() => {
    writer.flushing.delete(flush)
    schedule(writer)
  })
  writer.flushing.add(flush)
  schedule(writer)
}

/** Retries until it succeeds, cannot succeed, or the callers of the batch have waited too long. */
async function write<G extends Group>(writer: Writer<G>, batch: Batch<G>) {
  const { name, log, written, failed } = writer
  for (let attempt = 0; !batch.over; attempt++) {
    try {
      await writer.write(batch.group, attempt)
      written.inc(batch.group.count)
      return batch.settle()
    } catch (error) {
      failed.inc()
      const again = writer.mayPass(error)
      log.error({ err: error, writer: name, rows: batch.group.count, again }, 'rows could not be written')
      if (!again) batch.settle(error)
      else await sleep(Math.min(pauseMaxMs, 50 * 2 ** attempt))
    }
  }
  writer.abandoned?.(batch.group)
}
