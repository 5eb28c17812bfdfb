/** Stores the filters to which software versions of an application are offered, and the bits of the filters that endpoints match. */
import type { Sql } from '../../../kernel/db.ts'
import type { Matches } from '../plan.ts'
import type { ApplicationKey } from './versions.ts'

export interface FilterRow {
  filterId: string
  bit: number
  ready: boolean
  generation: number
}

export async function findFilters(sql: Sql, { tenantId, applicationName }: ApplicationKey): Promise<FilterRow[]> {
  return await sql<FilterRow[]>`
    select filter_id, bit, ready, generation from software.filters
    where tenant_id = ${tenantId} and application_name = ${applicationName} order by bit`
}

export async function findFilter(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  filterId: string,
): Promise<FilterRow | undefined> {
  const [row] = await sql<FilterRow[]>`
    select filter_id, bit, ready, generation from software.filters
    where tenant_id = ${tenantId} and application_name = ${applicationName} and filter_id = ${filterId}`
  return row
}

/** Returns the ids of all filters to which a software version of the application is offered. */
export async function findNamedFilters(sql: Sql, { tenantId, applicationName }: ApplicationKey): Promise<string[]> {
  const rows = await sql<{ filterId: string }[]>`
    select distinct filter_id from software.rollout_filters
    where tenant_id = ${tenantId} and application_name = ${applicationName} order by 1`
  return rows.map(({ filterId }) => filterId)
}

export async function insertFilter(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  filterId: string,
  bit: number,
) {
  await sql`
    insert into software.filters (tenant_id, application_name, filter_id, bit)
    values (${tenantId}, ${applicationName}, ${filterId}, ${bit})`
}

export async function deleteFilters(sql: Sql, { tenantId, applicationName }: ApplicationKey, filterIds: string[]) {
  await sql`
    delete from software.filters where tenant_id = ${tenantId} and application_name = ${applicationName}
      and filter_id = any(${filterIds}::text[])`
}

/** Excludes the filter from rollouts until its members are read again. Returns its new generation. */
export async function resetFilter(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  filterId: string,
): Promise<number> {
  const [row] = await sql<{ generation: number }[]>`
    update software.filters set ready = false, generation = nextval('software.revisions')
    where tenant_id = ${tenantId} and application_name = ${applicationName} and filter_id = ${filterId}
    returning generation`
  return row!.generation
}

/** Marks the filter as ready unless it was reset meanwhile. */
export async function markReady(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  { filterId, generation }: { filterId: string; generation: number },
): Promise<boolean> {
  const { count } = await sql`
    update software.filters set ready = true
    where tenant_id = ${tenantId} and application_name = ${applicationName} and filter_id = ${filterId}
      and generation = ${generation} and not ready`
  return count === 1
}

/** Locks rows of endpoints until the transaction ends. Returns the ids of the rows that exist. */
export async function lockEndpoints(sql: Sql, { tenantId, applicationName }: ApplicationKey, endpointIds: string[]) {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from software.endpoints
    where tenant_id = ${tenantId} and application_name = ${applicationName} and endpoint_id = any(${endpointIds}::text[])
    order by endpoint_id for update`
  return rows.map(({ endpointId }) => endpointId)
}

export async function findEndpointIds(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from software.endpoints
    where tenant_id = ${tenantId} and application_name = ${applicationName} and endpoint_id > ${after}
    order by endpoint_id limit ${limit}`
  return rows.map(({ endpointId }) => endpointId)
}

/** Stores the filters that endpoints match. Returns the endpoints whose filters changed. */
export async function updateMatches(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  endpoints: (Matches & { endpointId: string })[],
): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    update software.endpoints e set filter_mask = g.mask, more_filters = g.more::integer[], matched = true
    from unnest(${endpoints.map(({ endpointId }) => endpointId)}::text[], ${endpoints.map(({ mask }) => mask)}::bigint[],
      ${endpoints.map(({ more }) => more && `{${more.join()}}`)}::text[]) as g(endpoint_id, mask, more)
    where e.tenant_id = ${tenantId} and e.application_name = ${applicationName} and e.endpoint_id = g.endpoint_id
      and (not e.matched or e.filter_mask <> g.mask or e.more_filters is distinct from (g.more::integer[]))
    returning e.endpoint_id`
  return rows.map(({ endpointId }) => endpointId)
}
