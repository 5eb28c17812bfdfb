/** Writes many records in one commit. Uses the group commit of the kernel, and adds the order and encoding of records. */

import type { Clock } from '../../kernel/clock.ts'
import { createGroupCommit, type Group } from '../../kernel/group-commit.ts'
import type { LiveEvent } from '../../kernel/live/live.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import { createPendingBatches, type PendingBatches, type PendingOptions } from './batch.ts'
import type { TrafficRecord } from './contract.ts'

export interface Writer {
  add(record: TrafficRecord): Promise<void>
  /** Resolves when all records that were added before this call are written or have failed. */
  settled(): Promise<void>
  /** Resolves when no record is pending. */
  drained(): Promise<void>
}

export interface WriterOptions {
  /** Writes all batches or no batch. If `isRetry` is true, an earlier attempt may have been committed. */
  write(batches: PendingBatches, isRetry: boolean): Promise<void>
  /** Returns whether a retry can succeed. */
  isTemporary(error: unknown): boolean
  /** A text that identifies this process uniquely. */
  writerId: string
  payloadBytesMax: number
  /** Returns the event of a record if a live stream needs it. Called for every record. */
  eventOf?: PendingOptions['eventOf']
  /** Called with the events that `eventOf` has returned, when their records are committed. */
  stored?(events: LiveEvent[]): void
  now: Clock
  log: Log
  metrics: Metrics
  /** Time after which a record is rejected because the database is slow or unreachable. */
  timeoutMs?: number
}

interface Records extends Group {
  batches: PendingBatches
}

export const concurrentWrites = 2
const rowsMax = 5000
const bytesMax = 4 * 1024 * 1024
const dayMs = 86_400_000

export function createWriter(options: WriterOptions): Writer {
  const { now, log, metrics, payloadBytesMax, eventOf, stored } = options
  let [lastMs, microsInMs] = [0, 0]
  let commits = 0

  /**
   * Returns microseconds that increase within a millisecond. A time that is more than a day off has no partition, and is replaced by the
   * current time.
   */
  function microsOf(createdAt: Date): number {
    const today = now().getTime()
    const createdMs = createdAt.getTime()
    const ms = createdMs > today - dayMs && createdMs < today + dayMs ? createdMs : today
    microsInMs = ms === lastMs ? Math.min(microsInMs + 1, 999) : 0
    lastMs = ms
    return ms * 1000 + microsInMs
  }

  function newRecords(): Records {
    const batchId = `${options.writerId}-${(++commits).toString(36)}`
    const batches = createPendingBatches({ batchId, payloadBytesMax, ...(eventOf && { eventOf }) })
    return {
      batches,
      get count() {
        return batches.count
      },
      get bytes() {
        return batches.bytes
      },
      get isFull() {
        return batches.count >= rowsMax || batches.bytes >= bytesMax
      },
    }
  }

  const commit = createGroupCommit<Records>({
    name: 'traffic_log',
    create: newRecords,
    async write({ batches }, attempt) {
      await options.write(batches, attempt > 0)
      if (batches.watched.length > 0) stored?.(batches.watched)
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
    // This function is not async, because all records of a commit share one promise.
    add(record) {
      let records: Records
      try {
        records = commit.current()
      } catch (error) {
        const rejection = Promise.reject(error)
        rejection.catch(() => {}) // Callers may ignore the promise, so its rejection must be handled here.
        return rejection
      }
      records.batches.add(record, microsOf(record.createdAt))
      return commit.committed()
    },
    settled: commit.settled,
    drained: commit.drained,
  }
}
