/** SQL of numbers for endpoints, series and sets of series. */
import type { Db, Sql } from '../../../kernel/db.ts'

export interface NumberedEndpoint {
  endpointId: string
  endpointNo: number
}

/** Returns the numbers of endpoints. Missing numbers are created. */
export async function numberEndpoints(
  sql: Sql,
  unsorted: { endpointId: string; tenantId: string; applicationName: string }[],
): Promise<NumberedEndpoint[]> {
  // The ids are sorted, so that two nodes that number the same endpoints do not deadlock.
  const endpoints = unsorted.toSorted((a, b) => (a.endpointId < b.endpointId ? -1 : 1))
  const ids = endpoints.map(({ endpointId }) => endpointId)
  await sql`
    insert into time_series.endpoints (endpoint_id, tenant_id, application_name)
    select * from unnest(${ids}::text[], ${endpoints.map(({ tenantId }) => tenantId)}::text[],
      ${endpoints.map(({ applicationName }) => applicationName)}::text[])
    on conflict (endpoint_id) do nothing`
  return await sql`
    select endpoint_id, endpoint_no from time_series.endpoints where endpoint_id = any(${ids}::text[])`
}

export async function findEndpointNumbers(sql: Sql, endpointIds: string[]): Promise<NumberedEndpoint[]> {
  return await sql`
    select endpoint_id, endpoint_no from time_series.endpoints where endpoint_id = any(${endpointIds}::text[])`
}

/** Returns which of the given numbers belong to an existing endpoint. */
export async function findExistingNumbers(sql: Sql, endpointNos: number[]): Promise<Set<number>> {
  const rows = await sql<NumberedEndpoint[]>`
    select endpoint_no from time_series.endpoints where endpoint_no = any(${endpointNos}::bigint[])`
  return new Set(rows.map(({ endpointNo }) => endpointNo))
}

/** Finds endpoints of an application ordered by id, page by page. */
export async function findEndpointsOf(
  sql: Sql,
  page: { tenantId: string; applicationName: string; after: string; limit: number },
): Promise<NumberedEndpoint[]> {
  return await sql`
    select endpoint_id, endpoint_no from time_series.endpoints
    where tenant_id = ${page.tenantId} and application_name = ${page.applicationName} and endpoint_id > ${page.after}
    order by endpoint_id limit ${page.limit}`
}

const pageSize = 500

/** Yields all endpoint numbers of an application in pages. */
export async function* endpointNosOf(db: Db, application: { tenantId: string; applicationName: string }) {
  for (let after = ''; ; ) {
    const page = await findEndpointsOf(db.sql, { ...application, after, limit: pageSize })
    if (page.length === 0) return
    yield page.map(({ endpointNo }) => endpointNo)
    after = page.at(-1)!.endpointId
  }
}

/** Finds which of the given endpoints have points, in the order of their ids. */
export async function findEndpointsByIds(
  sql: Sql,
  query: { tenantId: string; applicationName: string; endpointIds: string[] },
): Promise<NumberedEndpoint[]> {
  return await sql`
    select endpoint_id, endpoint_no from time_series.endpoints
    where endpoint_id = any(${query.endpointIds}::text[])
      and tenant_id = ${query.tenantId} and application_name = ${query.applicationName}
    order by endpoint_id`
}

/** Finds series with all their values by name. Without names, finds all series. */
export async function findSeriesByName(
  sql: Sql,
  query: { tenantId: string; applicationName: string; names: string[] | undefined },
): Promise<Series[]> {
  return await sql`
    select series_id, name, value_name from time_series.series
    where tenant_id = ${query.tenantId} and application_name = ${query.applicationName}
      ${query.names === undefined ? sql`` : sql`and name = any(${query.names}::text[])`}
    order by name, value_name`
}

export interface Series {
  seriesId: number
  name: string
  valueName: string
}

export interface Application {
  tenantId: string
  applicationName: string
}

export async function findSeries(sql: Sql, { tenantId, applicationName }: Application): Promise<Series[]> {
  return await sql`
    select series_id, name, value_name from time_series.series
    where tenant_id = ${tenantId} and application_name = ${applicationName} order by name, value_name`
}

/** Finds the series of several applications. */
export async function findSeriesOf(
  sql: Sql,
  tenantId: string,
  applicationNames: string[],
): Promise<(Series & { applicationName: string })[]> {
  return await sql`
    select application_name, series_id, name, value_name from time_series.series
    where tenant_id = ${tenantId} and application_name = any(${applicationNames}::text[])
    order by application_name, name, value_name`
}

export async function countSeries(sql: Sql, { tenantId, applicationName }: Application): Promise<number> {
  const [row] = await sql`
    select count(*) from time_series.series where tenant_id = ${tenantId} and application_name = ${applicationName}`
  return row!.count
}

/**
 * Finds which of the given series exist. Each name is looked up in the primary key. A join would read all series of the application for
 * each name while the table has no statistics.
 */
export async function findSeriesByNames(
  sql: Sql,
  { tenantId, applicationName }: Application,
  fields: { name: string; valueName: string }[],
): Promise<Series[]> {
  return await sql`
    select found.series_id, found.name, found.value_name
    from unnest(${fields.map(({ name }) => name)}::text[], ${fields.map(({ valueName }) => valueName)}::text[])
      requested (name, value_name)
    cross join lateral (
      select series_id, name, value_name from time_series.series
      where tenant_id = ${tenantId} and application_name = ${applicationName}
        and name = requested.name and value_name = requested.value_name
      limit 1) found`
}

/** Creates missing series. The caller must have locked the application, so that concurrent calls cannot exceed its limit. */
export async function insertSeries(
  sql: Sql,
  { tenantId, applicationName }: Application,
  fields: { name: string; valueName: string }[],
) {
  await sql`
    insert into time_series.series (tenant_id, application_name, name, value_name)
    select ${tenantId}, ${applicationName}, * from unnest(${fields.map(({ name }) => name)}::text[],
      ${fields.map(({ valueName }) => valueName)}::text[])
    on conflict (tenant_id, application_name, name, value_name) do nothing`
}

export async function lockApplication(sql: Sql, { tenantId, applicationName }: Application) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`time-series\n${tenantId}\n${applicationName}`}, 0))`
}

export interface SeriesSet {
  setId: number
  seriesIds: number[]
}

export async function findSets(sql: Sql, { tenantId, applicationName }: Application): Promise<SeriesSet[]> {
  return await sql`
    select set_id, series_ids from time_series.sets
    where tenant_id = ${tenantId} and application_name = ${applicationName}`
}

export async function findSetsByNumber(sql: Sql, setIds: number[]): Promise<SeriesSet[]> {
  return await sql`select set_id, series_ids from time_series.sets where set_id = any(${setIds}::bigint[])`
}

/** Creates missing sets and returns all sets. */
export async function insertSets(
  sql: Sql,
  { tenantId, applicationName }: Application,
  lists: number[][],
): Promise<SeriesSet[]> {
  // Lists of different lengths cannot form a two-dimensional array, so each list is passed as a text.
  const texts = lists.map((seriesIds) => `{${seriesIds.join()}}`)
  await sql`
    insert into time_series.sets (tenant_id, application_name, series_ids)
    select ${tenantId}, ${applicationName}, list::integer[] from unnest(${texts}::text[]) list
    on conflict (tenant_id, application_name, series_ids) do nothing`
  return await sql`
    select set_id, series_ids from time_series.sets where tenant_id = ${tenantId} and application_name = ${applicationName}
      and series_ids in (select list::integer[] from unnest(${texts}::text[]) list)`
}
