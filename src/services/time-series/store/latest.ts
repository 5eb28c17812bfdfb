/** SQL for the newest sample of each endpoint and series set. */
import type { Sql } from '../../../kernel/db.ts'
import { type RecordRow, type WrittenSample, withValues } from './samples.ts'

export type LatestRow = WrittenSample

/** Returns a number as text. `String(-0)` would lose the sign. */
const numberText = (number: number) => (Object.is(number, -0) ? '-0' : String(number))

/** Saves samples as the newest of their endpoint and set, unless a newer one is stored. Sorts by key, so that nodes do not deadlock. */
export async function saveLatest(sql: Sql, unsorted: LatestRow[]) {
  if (unsorted.length === 0) return
  const rows = unsorted.toSorted((a, b) => a.endpointNo - b.endpointNo || a.setId - b.setId)
  await sql`
    insert into time_series.latest as l (endpoint_no, set_id, ts, written, v, x)
    select endpoint_no, set_id, ts, written, v::float8[], x from unnest(
      ${rows.map(({ endpointNo }) => endpointNo)}::bigint[], ${rows.map(({ setId }) => setId)}::integer[],
      ${rows.map(({ ts }) => ts)}::bigint[], ${rows.map(({ written }) => written)}::bigint[],
      ${rows.map(({ v }) => `{${v.map(numberText).join(',')}}`)}::text[], ${rows.map(({ x }) => x)}::text[])
      as given (endpoint_no, set_id, ts, written, v, x)
    on conflict (endpoint_no, set_id) do update
    set ts = excluded.ts, written = excluded.written, v = excluded.v, x = excluded.x
    where (excluded.ts, excluded.written) > (l.ts, l.written)`
}

export async function findLatest(sql: Sql, endpointNos: number[]): Promise<LatestRow[]> {
  return await sql`
    select endpoint_no, set_id, ts, written, v, x from time_series.latest
    where endpoint_no = any(${endpointNos}::bigint[])`
}

export async function deleteLatest(sql: Sql, endpointNos: number[]) {
  await sql`delete from time_series.latest where endpoint_no = any(${endpointNos}::bigint[])`
}

export async function deleteLatestBefore(sql: Sql, endpointNos: number[], ts: number) {
  await sql`delete from time_series.latest where endpoint_no = any(${endpointNos}::bigint[]) and ts < ${ts}`
}

/**
 * Finds the newest sample of each set, from the time on that `from` contains for its endpoint. Must be called in a transaction, because it
 * changes planner settings: the planner has no statistics of recent samples and would scan all of them.
 */
export async function findNewerSamples(sql: Sql, from: Map<number, number>): Promise<LatestRow[]> {
  const endpointNos = [...from.keys()]
  await sql`
    select set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`
  const rows = await sql<RecordRow[]>`
    select distinct on (s.endpoint_no, s.set_id) s.endpoint_no, s.set_id, s.ts, s.written, s.record, s.x
    from unnest(${endpointNos}::bigint[], ${[...from.values()]}::bigint[]) as given (endpoint_no, ts)
    join time_series.samples s on s.endpoint_no = given.endpoint_no and s.ts >= given.ts
    order by s.endpoint_no, s.set_id, s.ts desc, s.slot desc, s.written desc`
  return rows.map(withValues)
}
