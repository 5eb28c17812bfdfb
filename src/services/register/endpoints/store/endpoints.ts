import { type Fragment, isUniqueViolation, type Sql, TransactionConflictError } from '../../../../kernel/db.ts'
import type { EndpointRef } from '../../contract.ts'
import type { ConnectivityKeys } from '../../metadata/connectivity-keys.ts'
import type { Metadata } from '../../metadata/metadata.ts'

export interface EndpointRow extends EndpointRef {
  seq: number
  versionRegisteredDate: Date
  createdDate: Date
  /** Metadata as stored. It contains the connectivity only under the names in `connectivityKeys`. */
  metadata: Metadata
  metadataRevision: number
  metadataUpdatedDate: Date | null
  connected: boolean | null
  connectivityTs: Date | null
  /** The metadata keys that contain the connectivity; null if `connected` and `connectivityTs` contain it. */
  connectivityKeys: string[] | null
  poolIds: string[]
}

export interface NewEndpoint {
  endpointId: string
  versionName: string
  metadata: Metadata
  resourceGroupIds?: string[] | undefined
}

/**
 * Inserts endpoints and their counts in one statement, and returns the endpoints whose id was free. If another transaction inserts the same
 * id at the same time, throws a TransactionConflictError. The README names the measurements behind this statement.
 */
export async function insertEndpoints(
  sql: Sql,
  common: { tenantId: string; applicationName: string; at: Date },
  endpoints: NewEndpoint[],
): Promise<{ endpointId: string; seq: number }[]> {
  const { tenantId, applicationName, at } = common
  if (endpoints.length === 0) return []
  const counts = countsOf(endpoints)
  // The documents are passed as lines of a text, because JSON texts contain no line breaks. As parts of one document, they would be parsed
  // twice.
  const metadataLines = endpoints.map(({ metadata }) => JSON.stringify(metadata)).join('\n')
  // `unnest` fills short arrays with nulls. The arrays are empty in most calls: all endpoints have one version and no resource groups.
  const versionName = endpoints[0]!.versionName
  const versionNames = endpoints.every((one) => one.versionName === versionName)
    ? []
    : endpoints.map((one) => one.versionName)
  const groups = endpoints.some(({ resourceGroupIds }) => resourceGroupIds)
    ? endpoints.map(({ resourceGroupIds }) => arrayLiteral(resourceGroupIds))
    : []
  return await sql<{ endpointId: string; seq: number }[]>`
    with lock as materialized (select pg_advisory_xact_lock_shared(hashtextextended(${lockName(applicationName)}, 0))),
    given as (
      select endpoint_id, coalesce(version_name, ${versionName}) as version_name, metadata::jsonb as metadata,
        coalesce(groups, '{}')::text[] as groups
      from lock, rows from (
        unnest(${endpoints.map(({ endpointId }) => endpointId)}::text[], ${versionNames}::text[], ${groups}::text[]),
        string_to_table(${metadataLines}::text, E'\\n')) as g(endpoint_id, version_name, groups, metadata)
      where (select true from register.endpoints e where e.endpoint_id = g.endpoint_id limit 1) is null),
    inserted as (
      insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date,
        created_date, metadata, metadata_updated_date, resource_group_ids, pool_ids)
      select endpoint_id, ${tenantId}, ${applicationName}, version_name, ${at}, ${at}, metadata,
        case when metadata <> '{}' then ${at}::timestamptz end, groups, groups
      from given
      returning endpoint_id, seq),
    complete as materialized (select count(*) = ${endpoints.length}::integer as is_complete from inserted),
    counted as (
      insert into register.count_differences (tenant_id, metadata_key, application_name, version_name, difference)
      select ${tenantId}, key, ${applicationName}, version_name, n
      from unnest(${counts.map(({ key }) => key)}::text[], ${counts.map(({ versionName }) => versionName)}::text[],
        ${counts.map(({ count }) => count)}::integer[]) as c(key, version_name, n)
      where (select is_complete from complete)
      union all
      select ${tenantId}, key, ${applicationName}, version_name, count(*)
      from inserted join given using (endpoint_id), lateral (select '' as key union all select jsonb_object_keys(metadata)) keys
      where not (select is_complete from complete) group by key, version_name),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select ${tenantId}, ${applicationName}, seq, true from inserted)
    select endpoint_id, seq from inserted order by seq`.catch((error) => {
    throw isUniqueViolation(error, 'endpoints_pkey')
      ? new TransactionConflictError('another transaction has inserted an endpoint with the same id', { cause: error })
      : error
  })
}

/** Returns an array of ids as the text that PostgreSQL parses, because an array of lists of different lengths cannot be a parameter. */
const arrayLiteral = (ids: string[] | undefined): string | null =>
  ids && ids.length > 0 ? `{${ids.map((id) => JSON.stringify(id)).join()}}` : null

interface Count {
  /** A metadata key. The empty key counts the endpoints themselves. */
  key: string
  versionName: string
  count: number
}

/** Counts the endpoints and the metadata keys of each version. */
function countsOf(endpoints: NewEndpoint[]): Count[] {
  const byVersion = new Map<string, Map<string, Count>>()
  for (const { versionName, metadata } of endpoints) {
    const counts = byVersion.get(versionName) ?? new Map<string, Count>()
    byVersion.set(versionName, counts)
    for (const key of ['', ...Object.keys(metadata)]) {
      const known = counts.get(key)
      if (known) known.count++
      else counts.set(key, { key, versionName, count: 1 })
    }
  }
  return [...byVersion.values()].flatMap((counts) => [...counts.values()])
}

const lockName = (applicationName: string) => `register.application\n${applicationName}`

/** Waits for running registrations in this application, and blocks new registrations until the transaction ends. */
export async function lockApplication(sql: Sql, applicationName: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${lockName(applicationName)}, 0))`
}

/** Prevents the deletion of the application until the transaction ends. A registration takes the same lock. */
export async function lockApplicationShared(sql: Sql, applicationName: string) {
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${lockName(applicationName)}, 0))`
}

export const refColumns = (sql: Sql) => sql`endpoint_id, tenant_id, application_name, version_name`
export const allColumns = (sql: Sql) => sql`${refColumns(sql)}, seq, version_registered_date, created_date, metadata,
  metadata_revision, metadata_updated_date, connected, connectivity_ts, connectivity_keys, pool_ids`

export const endpointRelation = (sql: Sql): Fragment => sql`select ${refColumns(sql)} from register.endpoints`

/** Selects endpoints with the metadata key `name`. The selected name is null if the key is not a text. */
export const namedEndpointRelation = (sql: Sql): Fragment => sql`
  select ${refColumns(sql)}, case when jsonb_typeof(metadata -> 'name') = 'string' then metadata ->> 'name' end as name
  from register.endpoints`

export async function findRef(sql: Sql, endpointId: string): Promise<EndpointRef | undefined> {
  const [row] = await sql<EndpointRef[]>`
    select ${refColumns(sql)} from register.endpoints where endpoint_id = ${endpointId}`
  return row
}

export async function findRefs(sql: Sql, endpointIds: string[]): Promise<EndpointRef[]> {
  return await sql<EndpointRef[]>`
    select ${refColumns(sql)} from register.endpoints where endpoint_id = any(${endpointIds}::text[])`
}

/** Finds endpoints and blocks their deletion until the transaction ends. The lock is shared. */
export async function lockRefsShared(sql: Sql, endpointIds: string[]): Promise<EndpointRef[]> {
  return await sql<EndpointRef[]>`
    select ${refColumns(sql)} from register.endpoints where endpoint_id = any(${endpointIds}::text[])
    order by endpoint_id for key share`
}

export async function findEndpoint(sql: Sql, endpointId: string): Promise<EndpointRow | undefined> {
  const [row] = await sql<EndpointRow[]>`
    select ${allColumns(sql)} from register.endpoints where endpoint_id = ${endpointId}`
  return row
}

/** Locks an endpoint, so that its changes run one after the other. */
export async function lockEndpoint(sql: Sql, endpointId: string): Promise<EndpointRow | undefined> {
  const [row] = await sql<EndpointRow[]>`
    select ${allColumns(sql)} from register.endpoints where endpoint_id = ${endpointId} for update`
  return row
}

/** Saves metadata and updates the counts of its keys. Returns the new revision of the metadata. */
export async function saveMetadata(
  sql: Sql,
  endpoint: EndpointRef & { metadata: Metadata; at: Date; addedKeys: string[]; removedKeys: string[] },
): Promise<number> {
  const keys = [...endpoint.addedKeys, ...endpoint.removedKeys]
  const differences = [...endpoint.addedKeys.map(() => 1), ...endpoint.removedKeys.map(() => -1)]
  const [row] = await sql`
    with changed as (
      update register.endpoints set metadata = ${sql.json(endpoint.metadata as never)},
        metadata_revision = metadata_revision + 1, metadata_updated_date = ${endpoint.at}
      where endpoint_id = ${endpoint.endpointId} returning metadata_revision, seq),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select ${endpoint.tenantId}, ${endpoint.applicationName}, seq, true from changed),
    counted as (
      insert into register.count_differences (tenant_id, metadata_key, application_name, version_name, difference)
      select ${endpoint.tenantId}, key, ${endpoint.applicationName}, ${endpoint.versionName}, difference
      from unnest(${keys}::text[], ${differences}::integer[]) as d(key, difference))
    select metadata_revision from changed`
  return row?.metadataRevision
}

export async function saveVersion(sql: Sql, endpoint: EndpointRow, versionName: string, at: Date) {
  await sql`
    with moved as (
      update register.endpoints set version_name = ${versionName}, version_registered_date = ${at}
      where endpoint_id = ${endpoint.endpointId}),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      values (${endpoint.tenantId}, ${endpoint.applicationName}, ${endpoint.seq}, true))
    insert into register.count_differences (tenant_id, metadata_key, application_name, version_name, difference)
    select ${endpoint.tenantId}, key, ${endpoint.applicationName}, version, difference
    from unnest(${['', ...Object.keys(endpoint.metadata)]}::text[]) as key,
      unnest(${[endpoint.versionName, versionName]}::text[], ${[-1, 1]}::integer[]) as d(version, difference)`
}

export interface ConnectivityRow extends EndpointRef {
  seq: number
  metadata: Metadata
  connected: boolean | null
  connectivityTs: Date
  wasConnected: boolean | null
  wasConnectivityTs: Date | null
  /** The metadata before the change; null if it did not change. */
  wasMetadata: Metadata | null
}

export interface ConnectivityChange {
  endpointId: string
  connected: boolean
  at: Date
  number: number
  /** The configured keys; undefined if the default keys are used. */
  keys: ConnectivityKeys | undefined
}

/**
 * Saves connectivity that is newer than the stored connectivity, and returns the rows that changed. Metadata and key counts are written
 * only if key names are configured, or were when the stored connectivity was saved.
 */
export async function saveConnectivity(sql: Sql, changes: ConnectivityChange[]): Promise<ConnectivityRow[]> {
  const ids = changes.map(({ endpointId }) => endpointId)
  return await sql<ConnectivityRow[]>`
    with before as (
      select endpoint_id, connected, connectivity_ts, connectivity_number, connectivity_keys, metadata from register.endpoints
      where endpoint_id = any(${ids}::text[]) order by endpoint_id for update),
    newer as (
      select c.*, b.connected as was_connected, b.connectivity_ts as was_connectivity_ts,
        case when b.connectivity_keys is not null or c.state_key is not null then b.metadata end as was_metadata,
        coalesce(b.connectivity_keys, '{}') as was_keys
      from before b join unnest(${ids}::text[], ${changes.map(({ connected }) => String(connected))}::text[]::boolean[],
        ${changes.map(({ at }) => at.toISOString())}::text[]::timestamptz[],
        ${changes.map(({ number }) => String(number))}::text[]::bigint[],
        ${changes.map(({ keys }) => keys?.[0] ?? null)}::text[], ${changes.map(({ keys }) => keys?.[1] ?? null)}::text[]
      ) as c(endpoint_id, connected, at, number, state_key, at_key) using (endpoint_id)
      where b.connectivity_number is null or b.connectivity_number <= c.number),
    saved as (
      update register.endpoints e set
        connected = case when t.state_key is null then t.connected end, connectivity_ts = t.at, connectivity_number = t.number,
        connectivity_keys = case when t.state_key is not null then array[t.state_key, t.at_key] end,
        metadata = case when t.was_metadata is null then e.metadata else (t.was_metadata - t.was_keys)
          || case when t.state_key is null then '{}'
            else jsonb_build_object(t.state_key, t.connected, t.at_key, register.moment(t.at)) end end
      from newer t where t.endpoint_id = e.endpoint_id
      returning e.endpoint_id, e.tenant_id, e.application_name, e.version_name, e.seq, e.metadata, e.connected,
        e.connectivity_ts, t.was_connected, t.was_connectivity_ts, t.was_metadata),
    counted as (
      insert into register.count_differences (tenant_id, metadata_key, application_name, version_name, difference)
      select tenant_id, key, application_name, version_name, sum(difference) from (
        select s.*, key, 1 as difference from saved s, jsonb_object_keys(s.metadata - array(select jsonb_object_keys(s.was_metadata))) key
        where s.was_metadata is not null
        union all
        select s.*, key, -1 from saved s, jsonb_object_keys(s.was_metadata - array(select jsonb_object_keys(s.metadata))) key
        where s.was_metadata is not null) changed
      group by tenant_id, key, application_name, version_name),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select tenant_id, application_name, seq, was_metadata is not null from saved)
    select * from saved`
}

/** Deletes endpoints and updates the counts. Returns the endpoints that existed. The caller must delete their relations. */
export async function deleteEndpoints(sql: Sql, endpointIds: string[]): Promise<(EndpointRef & { seq: number })[]> {
  return await sql<(EndpointRef & { seq: number })[]>`
    with locked as (
      select endpoint_id from register.endpoints where endpoint_id = any(${endpointIds}::text[])
      order by endpoint_id for update),
    deleted as (
      delete from register.endpoints e using locked where e.endpoint_id = locked.endpoint_id
      returning e.endpoint_id, e.tenant_id, e.application_name, e.version_name, e.seq, e.metadata),
    counted as (
      insert into register.count_differences (tenant_id, metadata_key, application_name, version_name, difference)
      select tenant_id, '', application_name, version_name, -count(*) from deleted
      group by tenant_id, application_name, version_name
      union all
      select tenant_id, key, application_name, version_name, -count(*)
      from deleted, jsonb_object_keys(metadata) as key group by tenant_id, key, application_name, version_name),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select tenant_id, application_name, seq, true from deleted)
    select endpoint_id, tenant_id, application_name, version_name, seq from deleted`
}

/** Finds the first endpoints of a version. */
export async function findIdsOfVersion(sql: Sql, tenantId: string, versionName: string, limit: number) {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from register.endpoints
    where tenant_id = ${tenantId} and version_name = ${versionName} order by seq limit ${limit}`
  return rows.map(({ endpointId }) => endpointId)
}

/** Deletes a part of a deleted tenant's endpoints. Returns false when no endpoint is left. */
export async function deleteEndpointsOfTenant(sql: Sql, tenantId: string, limit: number): Promise<boolean> {
  const { count } = await sql`
    delete from register.endpoints where endpoint_id in (
      select endpoint_id from register.endpoints where tenant_id = ${tenantId} order by seq limit ${limit})`
  if (count > 0) return true
  await sql`delete from register.relations where tenant_id = ${tenantId}`
  await sql`delete from register.ended_relations where tenant_id = ${tenantId}`
  await sql`delete from register.counts where tenant_id = ${tenantId}`
  await sql`delete from register.count_differences where tenant_id = ${tenantId}`
  return false
}
