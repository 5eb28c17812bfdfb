/** The order of writes, and each node's mark in it: up to where the table of latest values holds what the node wrote. */
import type { Sql } from '../../../kernel/db.ts'

/** The next place in the order of writes. Not within a transaction: everybody else would wait for its end. */
export async function nextWritten(sql: Sql): Promise<number> {
  const [row] = await sql`select time_series.next_written() as number`
  return row!.number
}

/** The same, and the node's mark right before it. The rows that get this number become durable after the mark. */
export async function nextWrittenWithMark(sql: Sql, nodeId: string): Promise<number> {
  const [row] = await sql`
    insert into time_series.latest_marks as m (node, written) values (${nodeId}, time_series.next_written() - 1)
    on conflict (node) do update set written = excluded.written returning m.written + 1 as number`
  return row!.number
}

export async function saveMark(sql: Sql, nodeId: string, written: number) {
  await sql`
    insert into time_series.latest_marks (node, written) values (${nodeId}, ${written})
    on conflict (node) do update set written = excluded.written`
}

/** Unless it was replaced meanwhile. */
export async function deleteMark(sql: Sql, nodeId: string, written: number) {
  await sql`delete from time_series.latest_marks where node = ${nodeId} and written = ${written}`
}

export interface Mark {
  node: string
  written: number
}

export async function findMarks(sql: Sql): Promise<Mark[]> {
  return await sql`select node, written from time_series.latest_marks`
}

/** Takes up what hot samples after that place hold; the same again changes nothing. */
export async function completeLatest(sql: Sql, after: number) {
  await sql`
    insert into time_series.latest as l (endpoint_no, set_id, ts, written, v, x)
    select distinct on (endpoint_no, set_id) endpoint_no, set_id, ts, written, v, x
    from time_series.samples where written > ${after}
    order by endpoint_no, set_id, ts desc, written desc
    on conflict (endpoint_no, set_id) do update
    set ts = excluded.ts, written = excluded.written, v = excluded.v, x = excluded.x
    where (excluded.ts, excluded.written) > (l.ts, l.written)`
}
