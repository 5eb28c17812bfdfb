/** The newest sample of each set of each endpoint. */
import type { Sql } from '../../../kernel/db.ts'

export interface LatestRow {
  endpointNo: number
  setId: number
  ts: number
  written: number
  v: number[]
  x: string | null
}

/** `0` would lose the sign of a zero below zero. */
const numberText = (number: number) => (Object.is(number, -0) ? '-0' : String(number))

/** What is there and newer stays. In the order of the key, so that two processes do not wait for each other. */
export async function saveLatest(sql: Sql, given: LatestRow[]) {
  if (given.length === 0) return
  const rows = given.toSorted((a, b) => a.endpointNo - b.endpointNo || a.setId - b.setId)
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

export async function saveMark(sql: Sql, node: string, written: number, at: Date) {
  await sql`
    insert into time_series.latest_marks (node, written, seen_date) values (${node}, ${written}, ${at})
    on conflict (node) do update set written = excluded.written, seen_date = excluded.seen_date`
}

export async function deleteMark(sql: Sql, node: string) {
  await sql`delete from time_series.latest_marks where node = ${node}`
}

export interface Mark {
  node: string
  written: number
  seenDate: Date
}

export async function findMarks(sql: Sql): Promise<Mark[]> {
  return await sql`select node, written, seen_date from time_series.latest_marks`
}

/** Takes up what hot samples since then hold; the same again changes nothing. */
export async function completeLatest(sql: Sql, since: number) {
  await sql`
    insert into time_series.latest as l (endpoint_no, set_id, ts, written, v, x)
    select distinct on (endpoint_no, set_id) endpoint_no, set_id, ts, written, v, x
    from time_series.samples where written > ${since}
    order by endpoint_no, set_id, ts desc, written desc
    on conflict (endpoint_no, set_id) do update
    set ts = excluded.ts, written = excluded.written, v = excluded.v, x = excluded.x
    where (excluded.ts, excluded.written) > (l.ts, l.written)`
}
