/** SQL for the order of writes and for the marks of nodes. */
import type { Sql } from '../../../kernel/db.ts'
import { saveLatest } from './latest.ts'
import { type RecordRow, withValues } from './samples.ts'

/**
 * Returns the next number in the order of writes. Must not be called in a transaction, because it would block all other callers until the
 * commit.
 */
export async function nextWritten(sql: Sql): Promise<number> {
  const [row] = await sql`select time_series.next_written() as number`
  return row!.number
}

/** Returns the next number, and stores the number before it as the mark of the node. The mark is thus durable before the rows. */
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

/** Deletes the mark, unless another mark has replaced it meanwhile. */
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

const rowsPerPage = 2000

/** Adds samples with numbers greater than `after` to the table `latest`. Running it twice has the same result as running it once. */
export async function completeLatest(sql: Sql, after: number) {
  let last = { endpointNo: 0, setId: 0 }
  for (;;) {
    const rows = await sql<RecordRow[]>`
      select distinct on (endpoint_no, set_id) endpoint_no, set_id, ts, written, record, x
      from time_series.samples
      where written > ${after} and (endpoint_no, set_id) > (${last.endpointNo}, ${last.setId})
      order by endpoint_no, set_id, ts desc, written desc limit ${rowsPerPage}`
    await saveLatest(sql, rows.map(withValues))
    if (rows.length < rowsPerPage) return
    const { endpointNo, setId } = rows.at(-1)!
    last = { endpointNo, setId }
  }
}
