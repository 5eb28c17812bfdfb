/** Keeps the size of the packed records below a limit. The oldest hour is deleted first. */
import type { Db } from '../../kernel/db.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import { oldestHourDeleted } from './log-messages.ts'
import { lockPacking } from './store/blocks.ts'
import { deleteOldestHour, sumOfStored } from './store/counts.ts'

export interface SizeLimit {
  /** Deletes old hours until the size is within the limit. */
  enforce(): Promise<void>
}

export function createSizeLimit(
  { db, log, metrics }: { db: Db; log: Log; metrics: Metrics },
  bytesMax: number,
): SizeLimit {
  const size = metrics.gauge('waypost_traffic_log_stored_bytes', 'Size of the packed traffic records in bytes.')
  const stored = metrics.gauge('waypost_traffic_log_stored_records', 'Number of packed traffic records.')
  const deleted = metrics.counter(
    'waypost_traffic_log_size_limit_records_total',
    'Number of traffic records that were deleted because of WAYPOST_TRAFFIC_LOG_BYTES.',
  )

  /** Deletes the oldest hour and returns it. Returns undefined if the size is within the limit. */
  async function deleteOne() {
    return await db.tx(async (sql) => {
      await lockPacking(sql)
      const { bytes, records } = await sumOfStored(sql)
      size.set(bytes)
      stored.set(records)
      return bytesMax > 0 && bytes > bytesMax ? await deleteOldestHour(sql) : undefined
    })
  }

  return {
    async enforce() {
      for (let hour = await deleteOne(); hour; hour = await deleteOne()) {
        deleted.inc(hour.records)
        oldestHourDeleted(log, { since: hour.since.toISOString(), records: hour.records, bytes: hour.bytes })
      }
    },
  }
}
