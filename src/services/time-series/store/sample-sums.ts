/** Sums samples in the database, which returns a row for each interval instead of each value. */
import type { Sql } from '../../../kernel/db.ts'
import { floatsIn, isInPart, type SamplePart, valueIn } from './reading.ts'

/** Samples of one endpoint and one set within one interval. */
export interface SampleSums {
  endpointNo: number
  setId: number
  /** Times of the samples, not sorted. */
  times: Float64Array
  /** Sum of each wanted series; null if the set lacks it, NaN if a value is not a number. NaN for extremes that were not requested. */
  values: { sum: number | null; min: number; max: number }[]
}

/**
 * Sums up to `limit` samples by intervals of `width` milliseconds, in a transaction. Sorting is off, because the planner has no
 * statistics of recent samples and might sort them on disk instead of collecting the sums in memory.
 */
export async function findSampleSums(
  sql: Sql,
  part: SamplePart,
  { width, offset, limit, withExtremes }: { width: number; offset: number; limit: number; withExtremes: boolean },
): Promise<SampleSums[]> {
  const columns = part.wanted.map((seriesId, index) => {
    const value = valueIn(sql, part.sets, seriesId)
    const name = (text: string) => sql(`${text}${index}`)
    const sum = sql`sum(${value}) as ${name('sum')}`
    if (!withExtremes) return sum
    return sql`${sum}, min(${value}) as ${name('min')}, max(${value}) as ${name('max')}`
  })
  await sql`select set_config('enable_sort', 'off', true)`
  const rows = await sql`
    select endpoint_no, set_id, string_agg(float8send(ts), '') as times,
      ${columns.reduce((all, one) => sql`${all}, ${one}`)}
    from (select * from time_series.samples where ${isInPart(sql, part)} limit ${limit}) s
    group by endpoint_no, set_id, floor((ts - ${offset})::float8 / ${width})`
  await sql`select set_config('enable_sort', 'on', true)`
  return rows.map((row) => ({
    endpointNo: row.endpointNo,
    setId: row.setId,
    times: floatsIn(row.times),
    values: part.wanted.map((_, index) => ({
      sum: row[`sum${index}`],
      min: row[`min${index}`] ?? Number.NaN,
      max: row[`max${index}`] ?? Number.NaN,
    })),
  }))
}
