/** Records of one moment in one COPY: the log's part of the kernel's group commit, which is their order and their bytes. */
import type { Clock } from '../../kernel/clock.ts'
import { createGroupCommit, type Group } from '../../kernel/group-commit.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { TrafficRecord } from './contract.ts'
import { createRows, type Rows } from './rows.ts'

export type FirstRow = Pick<TrafficRecord, 'tenantId' | 'correlationId' | 'direction'>

export interface Writer {
  add(record: TrafficRecord): Promise<void>
  /** When all that was handed in before now is written, or given up. */
  settled(): Promise<void>
  /** When everything that was handed in is written, or given up. */
  drained(): Promise<void>
}

export interface WriterOptions {
  /** Stores all rows or none. `again`: the attempt before may have succeeded unheard; whether this row is there tells. */
  write(rows: Rows, again: FirstRow | undefined): Promise<void>
  /** Whether it makes sense to try once more. */
  isTemporary(error: unknown): boolean
  payloadBytesMax: number
  now: Clock
  log: Log
  metrics: Metrics
  /** How long a record waits for a database that is slow or away. */
  timeoutMs?: number
}

interface Records extends Group {
  rows: Rows
  first: FirstRow | undefined
}

export const writesAtOnce = 2
const rowsMax = 5000
const bytesMax = 4 * 1024 * 1024
const dayMs = 86_400_000
const capacityLeast = 64 * 1024

export function createWriter(options: WriterOptions): Writer {
  const { now, log, metrics } = options
  let [lastMs, within] = [0, 0]
  /** What a batch came to lately: one that fits is not copied as it grows. */
  let capacity = capacityLeast

  /** In their order also within a millisecond. A clock that is far away is not believed: there are partitions for our days only. */
  function microsOf(createdAt: Date): number {
    const today = now().getTime()
    const given = createdAt.getTime()
    const ms = given > today - dayMs && given < today + dayMs ? given : today
    within = ms === lastMs ? Math.min(within + 1, 999) : 0
    lastMs = ms
    return ms * 1000 + within
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
      if (attempt === 0) capacity = Math.max(capacityLeast, Math.ceil((capacity + rows.bytes * 1.25) / 2))
      return options.write(rows, attempt > 0 ? first : undefined)
    },
    isTemporary: options.isTemporary,
    log,
    metrics,
    everyMs: 15,
    concurrentWrites: writesAtOnce,
    // Callers wait for an answer before they hand in more, so this is reached only when they are far too many.
    pendingBytesMax: 128 * 1024 * 1024,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
  })

  return {
    // Not async: all of a batch share one promise.
    add(record) {
      let records: Records
      try {
        records = commit.current()
      } catch (error) {
        const refused = Promise.reject(error)
        refused.catch(() => {}) // heard by those who wait; nobody has to
        return refused
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
