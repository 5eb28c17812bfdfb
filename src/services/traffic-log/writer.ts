/** Writes many records in one COPY, with the group commit of the kernel; this module adds their order and encoding. */
import type { Clock } from '../../kernel/clock.ts'
import { createGroupCommit, type Group } from '../../kernel/group-commit.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { TrafficRecord } from './contract.ts'
import { createRows, type Rows } from './rows.ts'

export type FirstRow = Pick<TrafficRecord, 'tenantId' | 'correlationId' | 'direction'>

export interface Writer {
  add(record: TrafficRecord): Promise<void>
  /** Resolves when all records that were added before this call are written or have failed. */
  settled(): Promise<void>
  /** Resolves when no record is pending. */
  drained(): Promise<void>
}

export interface WriterOptions {
  /** Writes all rows or none. `firstOfRetry`: the first row, if this is a retry; if it exists, the previous attempt was committed. */
  write(rows: Rows, firstOfRetry: FirstRow | undefined): Promise<void>
  /** Returns whether a retry can succeed. */
  isTemporary(error: unknown): boolean
  payloadBytesMax: number
  now: Clock
  log: Log
  metrics: Metrics
  /** Time after which a record is rejected because the database is slow or unreachable. */
  timeoutMs?: number
}

interface Records extends Group {
  rows: Rows
  first: FirstRow | undefined
}

export const concurrentWrites = 2
const rowsMax = 5000
const bytesMax = 4 * 1024 * 1024
const dayMs = 86_400_000
const capacityMin = 64 * 1024

export function createWriter(options: WriterOptions): Writer {
  const { now, log, metrics } = options
  let [lastMs, microsInMs] = [0, 0]
  /** Initial buffer size, from recent batches, so that buffers rarely have to grow. */
  let capacity = capacityMin

  /** Returns increasing microseconds within a millisecond. Replaces times more than a day off, since they have no partition. */
  function microsOf(createdAt: Date): number {
    const today = now().getTime()
    const createdMs = createdAt.getTime()
    const ms = createdMs > today - dayMs && createdMs < today + dayMs ? createdMs : today
    microsInMs = ms === lastMs ? Math.min(microsInMs + 1, 999) : 0
    lastMs = ms
    return ms * 1000 + microsInMs
  }

  function newRecords(): Records {
    const rows = createRows(options.payloadBytesMax, capacity)
    return {
      rows,
      first: undefined,
      get count() {
        return rows.count
      },
      get bytes() {
        return rows.bytes
      },
      get isFull() {
        return rows.count >= rowsMax || rows.bytes >= bytesMax
      },
    }
  }

  const commit = createGroupCommit<Records>({
    name: 'traffic_log',
    create: newRecords,
    write({ rows, first }, attempt) {
      if (attempt === 0) capacity = Math.max(capacityMin, Math.ceil((capacity + rows.bytes * 1.25) / 2))
      return options.write(rows, attempt > 0 ? first : undefined)
    },
    isTemporary: options.isTemporary,
    log,
    metrics,
    everyMs: 15,
    concurrentWrites,
    // Callers wait for the write before they send more, so this limit is reached only under extreme load.
    pendingBytesMax: 128 * 1024 * 1024,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  })

  return {
    // Not async, because all records of a batch share one promise.
    add(record) {
      let records: Records
      try {
        records = commit.current()
      } catch (error) {
        const rejection = Promise.reject(error)
        rejection.catch(() => {}) // callers may ignore the promise
        return rejection
      }
      const { tenantId, correlationId, direction } = record
      records.first ??= { tenantId, correlationId, direction }
      records.rows.add(record, microsOf(record.createdAt))
      return commit.committed()
    },
    settled: commit.settled,
    drained: commit.drained,
  }
}
