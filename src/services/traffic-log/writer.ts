/**
 * Group commit: whoever hands in a record within the same few milliseconds shares one COPY, one commit and one promise. An idle
 * log writes at once; a busy one begins a write every few milliseconds, two at a time at most.
 */
import { type Clock, monotonicMs, sleep } from '../../kernel/clock.ts'
import { Unavailable } from '../../kernel/errors.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { TrafficRecord } from './contract.ts'
import { createRows, type Rows } from './rows.ts'

export type FirstRow = Pick<TrafficRecord, 'tenantId' | 'correlationId' | 'direction'>

export interface Writer {
  add(record: TrafficRecord): Promise<void>
  /** When everything that was handed in is written, or given up. */
  drained(): Promise<void>
}

export interface WriterOptions {
  /** Stores all rows or none. `again`: the attempt before may have succeeded unheard; whether this row is there tells. */
  write(rows: Rows, again: FirstRow | undefined): Promise<void>
  /** Whether it makes sense to try once more. */
  mayPass(error: unknown): boolean
  payloadBytesMax: number
  now: Clock
  log: Log
  metrics: Metrics
  /** How long a record waits for a database that is slow or away. */
  patienceMs?: number
}

interface Batch {
  rows: Rows
  first: FirstRow
  promise: Promise<void>
  settle(error?: unknown): void
  /** Its callers have been told. */
  over: boolean
}

const rowsMax = 5000
const bytesMax = 4 * 1024 * 1024
const everyMs = 5
const atOnce = 2
const dayMs = 86_400_000
/** Callers wait for an answer before they hand in more, so this is reached only when they are far too many. */
const pendingBytesMax = 128 * 1024 * 1024

export function createWriter(options: WriterOptions): Writer {
  const { now, log, metrics, patienceMs = 30_000 } = options
  const written = metrics.counter('waypost_traffic_log_records_total', 'Records of the traffic log that were stored')
  const failed = metrics.counter('waypost_traffic_log_failures_total', 'Writes of the traffic log that did not succeed')
  metrics.gauge('waypost_traffic_log_pending_bytes', 'What waits to be stored', [], (gauge) => gauge.set(pendingBytes))

  let open: Batch | undefined
  const sealed: Batch[] = []
  const flushing = new Set<Promise<void>>()
  let pendingBytes = 0
  let lastBegan = Number.NEGATIVE_INFINITY
  let scheduled = false
  let [lastMs, within] = [0, 0]
  /** What a batch came to lately: one that fits is not copied as it grows. */
  let capacity = 64 * 1024

  /** In their order also within a millisecond. A clock that is far away is not believed: there are partitions for our days only. */
  function microsOf(createdAt: Date): number {
    const today = now().getTime()
    const given = createdAt.getTime()
    const ms = given > today - dayMs && given < today + dayMs ? given : today
    within = ms === lastMs ? Math.min(within + 1, 999) : 0
    lastMs = ms
    return ms * 1000 + within
  }

  function newBatch({ tenantId, correlationId, direction }: TrafficRecord): Batch {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    promise.catch(() => {}) // heard by those who wait; nobody has to
    const rows = createRows(options.payloadBytesMax, capacity)
    const batch: Batch = {
      rows,
      first: { tenantId, correlationId, direction },
      promise,
      over: false,
      settle(error) {
        if (batch.over) return
        batch.over = true
        clearTimeout(patience)
        pendingBytes -= rows.bytes
        if (error === undefined) resolve()
        else reject(error)
      },
    }
    const patience = setTimeout(() => {
      log.error({ records: rows.count }, 'the traffic log could not be written for too long: its callers were refused')
      batch.settle(Unavailable())
    }, patienceMs)
    pendingBytes += rows.bytes
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
    capacity = Math.max(64 * 1024, Math.ceil((capacity + batch.rows.bytes * 1.25) / 2))
    const flush = flushOf(batch).finally(() => {
      flushing.delete(flush)
      schedule()
    })
    flushing.add(flush)
    schedule()
  }

  async function flushOf(batch: Batch) {
    for (let attempt = 0; !batch.over; attempt++) {
      try {
        await options.write(batch.rows, attempt > 0 ? batch.first : undefined)
        written.inc(batch.rows.count)
        return batch.settle()
      } catch (error) {
        failed.inc()
        const again = options.mayPass(error)
        log.error({ err: error, records: batch.rows.count, again }, 'the traffic log could not be written')
        if (!again) return batch.settle(error)
        await sleep(Math.min(2000, 50 * 2 ** attempt))
      }
    }
  }

  return {
    add(record) {
      if (pendingBytes > pendingBytesMax) return Promise.reject(Unavailable())
      const batch = open ?? newBatch(record)
      const before = batch.rows.bytes
      batch.rows.add(record, microsOf(record.createdAt))
      pendingBytes += batch.rows.bytes - before
      open = batch
      if (batch.rows.count >= rowsMax || batch.rows.bytes >= bytesMax) {
        sealed.push(batch)
        open = undefined
      }
      schedule()
      return batch.promise
    },
    async drained() {
      while (open || sealed.length > 0 || flushing.size > 0) {
        begin()
        await Promise.all(flushing)
      }
    },
  }
}
