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
  /** As it was counted last. */
  bytes: number
  promise: Promise<void>
  settle(error?: unknown): void
  /** Its callers have been told. */
  over: boolean
}

const pauseMaxMs = 2000

export function createGroupCommit<G extends Group>(options: GroupCommitOptions<G>): GroupCommit<G> {
  const { name, log, metrics, everyMs, atOnce, patienceMs = 30_000 } = options
  const written = metrics.counter(`waypost_${name}_rows_total`, 'Rows that were stored')
  const failed = metrics.counter(`waypost_${name}_failures_total`, 'Writes that did not succeed')
  metrics.gauge(`waypost_${name}_pending_bytes`, 'What waits to be stored', [], (gauge) => gauge.set(pendingBytes))

  let open: Batch<G> | undefined
  const sealed: Batch<G>[] = []
  const flushing = new Set<Promise<void>>()
  let pendingBytes = 0
  let lastBegan = Number.NEGATIVE_INFINITY
  let scheduled = false

  function newBatch(): Batch<G> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    promise.catch(() => {}) // heard by those who wait; nobody has to
    const group = options.create()
    const batch: Batch<G> = {
      group,
      bytes: 0,
      promise,
      over: false,
      settle(error) {
        if (batch.over) return
        batch.over = true
        clearTimeout(patience)
        pendingBytes -= batch.bytes
        if (error === undefined) resolve()
        else reject(error)
      },
    }
    const patience = setTimeout(() => {
      log.error(
        { writer: name, rows: group.count },
        'rows could not be written for too long: their callers were refused',
      )
      batch.settle(Unavailable())
    }, patienceMs)
    return batch
  }

  function schedule() {
    if (scheduled || flushing.size >= atOnce || (sealed.length === 0 && !open)) return
    scheduled = true
    const wait = sealed.length > 0 ? 0 : lastBegan + everyMs - monotonicMs()
    if (wait > 0) setTimeout(begin, wait)
    else setImmediate(begin)
  }

  function begin() {
    scheduled = false
    const batch = sealed.shift() ?? open
    if (!batch) return
    if (batch === open) open = undefined
    lastBegan = monotonicMs()
    const flush = flushOf(batch).finally(() => {
      flushing.delete(flush)
      schedule()
    })
    flushing.add(flush)
    schedule()
  }

  async function flushOf(batch: Batch<G>) {
    for (let attempt = 0; !batch.over; attempt++) {
      try {
        await options.write(batch.group, attempt)
        written.inc(batch.group.count)
        return batch.settle()
      } catch (error) {
        failed.inc()
        const again = options.mayPass(error)
        log.error({ err: error, writer: name, rows: batch.group.count, again }, 'rows could not be written')
        if (!again) batch.settle(error)
        else await sleep(Math.min(pauseMaxMs, 50 * 2 ** attempt))
      }
    }
    options.abandoned?.(batch.group)
  }

  return {
    current() {
      if (pendingBytes > options.pendingBytesMax) throw Unavailable()
      if (open?.over) {
        options.abandoned?.(open.group)
        open = undefined
      }
      open ??= newBatch()
      return open.group
    },
    committed() {
      const batch = open!
      const { bytes, isFull } = batch.group
      pendingBytes += bytes - batch.bytes
      batch.bytes = bytes
      if (isFull) {
        sealed.push(batch)
        open = undefined
      }
      schedule()
      return batch.promise
    },
    async settled() {
      const waiting = [open, ...sealed].map((batch) => batch?.promise)
      await Promise.allSettled([...flushing, ...waiting])
    },
    async drained() {
      while (open || sealed.length > 0 || flushing.size > 0) {
        begin()
        await Promise.all(flushing)
      }
    },
  }
}
