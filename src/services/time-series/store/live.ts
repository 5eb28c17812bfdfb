/** Hot rows by the time of their writing. */
import type { Sql } from '../../../kernel/db.ts'

export interface WrittenSample {
  endpointNo: number
  ts: number
  setId: number
  written: number
  v: number[]
  x: string | null
}

export async function findSamplesSince(
  sql: Sql,
  endpointNos: number[],
  written: number,
  limit: number,
): Promise<WrittenSample[]> {
  if (endpointNos.length === 0) return []
  return await sql`
    select endpoint_no, ts, set_id, written, v, x from time_series.samples
    where endpoint_no = any(${endpointNos}::bigint[]) and written > ${written}
    order by written limit ${limit}`
}
