import type { Fragment, Sql } from '../../../../kernel/db.ts'
import { likePart } from '../../../../kernel/db.ts'
import type { JsonObject } from '../../document-query/query.ts'

export type FilterStatus = 'pending' | 'active'

export interface FilterRow {
  filterId: string
  tenantId: string
  applicationName: string
  name: string
  description: string
  documentQuery: JsonObject
  status: FilterStatus
  /** Number of the filter's member set. */
  memberSet: number
  matchedEndpointsCount: number
  createdDate: Date
  updatedDate: Date
}

export interface ApplicationKey {
  tenantId: string
  applicationName: string
}
export interface FilterKey extends ApplicationKey {
  filterId: string
}

/** Returns an SQL expression for the exact number of members. The expression reads the stored counts, not the members. */
export const memberCountSql = (sql: Sql): Fragment => sql`(
  select coalesce(sum(n), 0)::bigint from (
    select c.count as n from register.filter_counts c where c.tenant_id = f.tenant_id and c.member_set = f.member_set
    union all
    select d.difference from register.filter_count_differences d
    where d.tenant_id = f.tenant_id and d.member_set = f.member_set) both_tables) as matched_endpoints_count`

const columns = (sql: Sql) => sql`f.filter_id, f.tenant_id, f.application_name, f.name, f.description, f.document_query,
  f.status, f.member_set, f.created_date, f.updated_date, ${memberCountSql(sql)}`

const isFilter = (sql: Sql, { tenantId, applicationName, filterId }: FilterKey) => sql`
  f.tenant_id = ${tenantId} and f.filter_id = ${filterId} and f.application_name = ${applicationName}`

export async function findFilter(sql: Sql, key: FilterKey): Promise<FilterRow | undefined> {
  const [row] = await sql<FilterRow[]>`select ${columns(sql)} from register.filters f where ${isFilter(sql, key)}`
  return row
}

export async function findMemberSet(
  sql: Sql,
  tenantId: string,
  filterId: string,
): Promise<{ memberSet: number; status: FilterStatus } | undefined> {
  const [row] = await sql<{ memberSet: number; status: FilterStatus }[]>`
    select member_set, status from register.filters where tenant_id = ${tenantId} and filter_id = ${filterId}`
  return row
}

/** Locks a filter, so that its changes and the steps of its matching run one after the other. */
export async function lockFilter(sql: Sql, key: FilterKey): Promise<FilterRow | undefined> {
  const [locked] = await sql`select from register.filters f where ${isFilter(sql, key)} for update`
  return locked && (await findFilter(sql, key))
}

const isListed = (sql: Sql, { tenantId, applicationName, name }: ApplicationKey & { name?: string | undefined }) => sql`
  f.tenant_id = ${tenantId} and f.application_name = ${applicationName}
  ${name === undefined ? sql`` : sql`and f.name ilike ${likePart(name)}`}`

export async function findFilters(
  sql: Sql,
  query: ApplicationKey & { name?: string | undefined; offset: number; limit: number | null },
): Promise<FilterRow[]> {
  return await sql<FilterRow[]>`
    select ${columns(sql)} from register.filters f where ${isListed(sql, query)}
    order by f.seq offset ${query.offset} limit ${query.limit}`
}

export async function countFilters(sql: Sql, query: ApplicationKey & { name?: string | undefined }): Promise<number> {
  const [row] = await sql`select count(*) from register.filters f where ${isListed(sql, query)}`
  return row?.count
}

/** Sums the sizes of all filters of the application. */
export async function sumFilters(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
): Promise<{ patternSize: number; queryLength: number }> {
  const [row] = await sql<[{ patternSize: number; queryLength: number }]>`
    select coalesce(sum(pattern_size), 0)::bigint as pattern_size,
      coalesce(sum(length(document_query::text)), 0)::bigint as query_length
    from register.filters where tenant_id = ${tenantId} and application_name = ${applicationName}`
  return row
}

interface FilterValues {
  name: string
  description: string
  documentQuery: JsonObject
  patternSize: number
  at: Date
}

const jsonText = (query: JsonObject) => JSON.stringify(query)

/** Inserts a filter. Returns the number of its member set, or undefined if the name is taken. */
export async function insertFilter(sql: Sql, filter: FilterKey & FilterValues): Promise<number | undefined> {
  const { tenantId, filterId, applicationName, name, description, documentQuery, patternSize, at } = filter
  const [row] = await sql`
    insert into register.filters (tenant_id, filter_id, application_name, name, description, document_query,
      pattern_size, created_date, updated_date)
    values (${tenantId}, ${filterId}, ${applicationName}, ${name}, ${description},
      ${jsonText(documentQuery)}::text::json, ${patternSize}, ${at}, ${at})
    on conflict on constraint filter_name do nothing returning member_set`
  return row?.memberSet
}

export async function updateFilter(sql: Sql, key: FilterKey, written: FilterValues) {
  const { name, description, documentQuery, patternSize, at } = written
  await sql`
    update register.filters f set name = ${name}, description = ${description},
      document_query = ${jsonText(documentQuery)}::text::json, pattern_size = ${patternSize}, updated_date = ${at}
    where ${isFilter(sql, key)}`
}

/** Sets the filter to pending with a new, empty member set. Returns the number of the set. */
export async function restartFilter(sql: Sql, key: FilterKey): Promise<number> {
  const [row] = await sql`
    update register.filters f set status = 'pending', member_set = nextval('register.member_sets')
    where ${isFilter(sql, key)} returning member_set`
  return row?.memberSet
}

export async function activateFilter(sql: Sql, key: FilterKey) {
  await sql`update register.filters f set status = 'active' where ${isFilter(sql, key)}`
}

export async function deleteFilter(sql: Sql, key: FilterKey) {
  await sql`delete from register.filters f where ${isFilter(sql, key)}`
}

export async function deleteFiltersOf(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
): Promise<{ filterId: string; memberSet: number }[]> {
  return await sql<{ filterId: string; memberSet: number }[]>`
    delete from register.filters where tenant_id = ${tenantId} and application_name = ${applicationName}
    returning filter_id, member_set`
}

/** Takes the shared lock on the application's filters. Returns their revision, or null if there are no filters. */
export async function lockFiltersShared(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
): Promise<number | null> {
  const [row] = await sql`select register.hold_filters(${tenantId}, ${applicationName}) as revision`
  return row?.revision
}

/**
 * Waits for changes of endpoints that use the old filters, and blocks new changes until the commit. Must be the last statement of its
 * transaction, so that the changes are blocked only briefly.
 */
export async function publishFilters(sql: Sql, { tenantId, applicationName }: ApplicationKey) {
  await sql`select register.publish_filters(${tenantId}, ${applicationName})`
}

export interface StoredQuery {
  filterId: string
  memberSet: number
  status: FilterStatus
  documentQuery: JsonObject
}

export async function findQueries(sql: Sql, { tenantId, applicationName }: ApplicationKey): Promise<StoredQuery[]> {
  return await sql<StoredQuery[]>`
    select filter_id, member_set, status, document_query from register.filters
    where tenant_id = ${tenantId} and application_name = ${applicationName}`
}

/**
 * Moves the differences into the counts with one statement, so that readers count each difference exactly once. Deletes the counts of
 * member sets without a filter.
 */
export async function foldFilterCounts(sql: Sql) {
  await sql`
    with moved as (delete from register.filter_count_differences returning *),
    summed as (
      select tenant_id, member_set, sum(difference) as difference
      from moved group by tenant_id, member_set having sum(difference) <> 0)
    insert into register.filter_counts as known (tenant_id, member_set, count)
    select tenant_id, member_set, difference from summed order by tenant_id, member_set
    on conflict (tenant_id, member_set) do update set count = known.count + excluded.count`
  await sql`
    delete from register.filter_counts c where not exists (
      select from register.filters f where f.tenant_id = c.tenant_id and f.member_set = c.member_set)`
}
