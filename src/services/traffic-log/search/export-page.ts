/** Finds pages of records in chronological order, for exports. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { StoredRecord } from '../codec/columns.ts'
import { SearchTooLong } from '../errors.ts'
import type { MicrosSpan, RecordFilter } from './filter.ts'
import { findFirst } from './search.ts'

const recordsMax = 500
/** Time span of the first search. Long searches are divided, because each search has a time limit. */
const firstWindow = 6 * 3_600_000_000
const leastWindow = 1_000_000
const pageMs = 2000

type Run = <T>(work: (sql: Sql, deadline: number) => Promise<T>) => Promise<T>

/**
 * Returns the next records and the position at which to continue. Records of the same microsecond are on the same page, so that no record
 * is lost or repeated between two pages.
 */
export async function findNextRecords(
  run: Run,
  filterOf: (sql: Sql, span: MicrosSpan) => Promise<RecordFilter>,
  { from, to }: MicrosSpan,
): Promise<{ records: StoredRecord[]; next: number | undefined }> {
  const began = monotonicMs()
  let [start, window] = [from, firstWindow]
  while (start < to) {
    const span = { from: start, to: Math.min(start + window, to) }
    const records = await run(async (sql, deadline) =>
      findFirst(sql, await filterOf(sql, span), recordsMax, deadline),
    ).catch((error) => {
      if (!SearchTooLong.is(error) || window <= leastWindow) throw error
      return undefined
    })
    if (!records) {
      window = Math.max(leastWindow, Math.floor(window / 4))
      continue
    }
    if (records.length === recordsMax) return wholeMicroseconds(records)
    start = span.to
    if (records.length > 0 || monotonicMs() - began > pageMs) return { records, next: start < to ? start : undefined }
    window *= 2
  }
  return { records: [], next: undefined }
}

/** Leaves the records of the last microsecond for the next page, because more records may have the same time. */
function wholeMicroseconds(records: StoredRecord[]) {
  const last = records.at(-1)!.micros
  const whole = records.filter(({ micros }) => micros < last)
  return whole.length > 0 ? { records: whole, next: last } : { records, next: last + 1 }
}
