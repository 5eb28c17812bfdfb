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
type FilterOf = (sql: Sql, span: MicrosSpan) => Promise<RecordFilter>

interface Page {
  records: StoredRecord[]
  next: number | undefined
}

/**
 * Returns the next records and the position at which to continue. Records of the same microsecond are on the same page, so that no record
 * is lost or repeated between two pages.
 */
export async function findNextRecords(run: Run, filterOf: FilterOf, { from, to }: MicrosSpan): Promise<Page> {
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
    if (records.length === recordsMax) return await wholeMicroseconds(run, filterOf, records)
    start = span.to
    if (records.length > 0 || monotonicMs() - began > pageMs) return { records, next: start < to ? start : undefined }
    window *= 2
  }
  return { records: [], next: undefined }
}

/**
 * Leaves the records of the last microsecond for the next page, because more records may have the same time. If all records have the same
 * time, reads all records of this microsecond instead.
 */
async function wholeMicroseconds(run: Run, filterOf: FilterOf, records: StoredRecord[]): Promise<Page> {
  const last = records.at(-1)!.micros
  const whole = records.filter(({ micros }) => micros < last)
  if (whole.length > 0) return { records: whole, next: last }
  const span = { from: last, to: last + 1 }
  const ofMicrosecond = await run(async (sql, deadline) =>
    findFirst(sql, await filterOf(sql, span), Number.MAX_SAFE_INTEGER, deadline),
  )
  return { records: ofMicrosecond, next: span.to }
}
