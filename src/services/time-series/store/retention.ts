/** SQL of points that are older than their retention. */
import type { Sql } from '../../../kernel/db.ts'
import type { Application } from './numbers.ts'

export async function findApplications(sql: Sql): Promise<Application[]> {
  return await sql`select distinct tenant_id, application_name from time_series.series`
}

export interface Expired {
  endpointNos: number[]
  seriesIds: number[]
  /** First day that is kept. */
  firstDay: number
}

export async function deleteExpired(sql: Sql, { endpointNos, seriesIds, firstDay }: Expired): Promise<number> {
  const { count } = await sql`
    delete from time_series.chunks
    where endpoint_no = any(${endpointNos}::bigint[]) and series_id = any(${seriesIds}::integer[]) and day < ${firstDay}`
  return count
}

/** Counts expired samples that are not packed yet, by set. */
export async function countExpiredSamples(
  sql: Sql,
  endpointNos: number[],
  before: number,
): Promise<{ setId: number; samples: number }[]> {
  return await sql`
    select set_id, count(*)::float8 as samples from time_series.samples
    where endpoint_no = any(${endpointNos}::bigint[]) and ts < ${before} group by set_id`
}

export interface ExpiredSum {
  seriesId: number
  points: number
  bytes: number
}

export async function sumExpired(sql: Sql, { endpointNos, seriesIds, firstDay }: Expired): Promise<ExpiredSum[]> {
  return await sql`
    select series_id, sum(n)::float8 as points, sum(octet_length(data))::float8 as bytes from time_series.chunks
    where endpoint_no = any(${endpointNos}::bigint[]) and series_id = any(${seriesIds}::integer[]) and day < ${firstDay}
    group by series_id`
}
