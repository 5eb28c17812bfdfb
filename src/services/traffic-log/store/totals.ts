/** SQL that sums the counts of blocks. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { MicrosSpan, RecordFilter } from '../search/filter.ts'

/** A time span in parts: whole hours, periods of five minutes before and after these hours, and the remainder without stored counts. */
export interface PartSpans {
  hours: MicrosSpan | undefined
  minutes: MicrosSpan[]
  rest: MicrosSpan[]
}

const dateOf = (micros: number) => new Date(micros / 1000)

const countsWhere = (sql: Sql, filter: RecordFilter, minutes: number, { from, to }: MicrosSpan): Fragment => sql`
  from traffic_log.counts
  where tenant_id = ${filter.tenantId} and minutes = ${minutes} and since >= ${dateOf(from)} and since < ${dateOf(to)}
  ${filter.visible === 'all' ? sql`` : sql`and application_name = any(${[...filter.visible.applicationNames]}::text[])`}
  ${filter.versionName ? sql`and version_name = ${filter.versionName}` : sql``}
  ${filter.extension ? sql`and extension = ${filter.extension}` : sql``}`

export async function sumOfCounts(sql: Sql, filter: RecordFilter, { hours, minutes }: PartSpans): Promise<number> {
  const parts = [
    ...(hours ? [countsWhere(sql, filter, 60, hours)] : []),
    ...minutes.map((span) => countsWhere(sql, filter, 5, span)),
  ].map((where) => sql`(select coalesce(sum(count), 0) ${where})`)
  if (parts.length === 0) return 0
  const [row] = await sql<{ sum: number }[]>`
    select (${parts.reduce((before, part) => sql`${before} + ${part}`)})::float8 as sum`
  return row!.sum
}

/** An hour. `passed` is the number of matching records up to the end of the hour, in the order of the query. */
export interface PassedHour {
  since: Date
  passed: number
}

/**
 * Finds the hours around a page: the last hour whose `passed` is at most `offset`, and the first hour whose `passed` is at least `pageEnd`.
 */
export async function findHours(
  sql: Sql,
  filter: RecordFilter,
  span: MicrosSpan,
  { descending, offset, pageEnd }: { descending: boolean; offset: number; pageEnd: number },
): Promise<{ before: PassedHour | undefined; until: PassedHour | undefined }> {
  const rows = await sql<PassedHour[]>`
    with hours as (
      select since, sum(sum(count)::float8) over (order by since ${descending ? sql`desc` : sql`asc`}) as passed
      ${countsWhere(sql, filter, 60, span)} group by since)
    (select since, passed from hours where passed <= ${offset} order by passed desc limit 1)
    union all
    (select since, passed from hours where passed >= ${pageEnd} order by passed limit 1)`
  return {
    before: rows.findLast(({ passed }) => passed <= offset),
    until: rows.find(({ passed }) => passed >= pageEnd),
  }
}
