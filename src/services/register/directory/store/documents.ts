/** Writes the directory: documents, values to sort by, activity, and the queue of changed endpoints. */
import type { Sql } from '../../../../kernel/db.ts'
import type { Metadata } from '../../metadata/metadata.ts'
import type { DirectoryDocument } from '../document.ts'
import { connectionSql } from './conditions.ts'
import { addToValueCounts, connectionKey, type ValueCount } from './value-counts.ts'

export interface EndpointKey {
  tenantId: string
  applicationName: string
  seq: number
}

export interface QueuedEndpoint extends EndpointKey {
  /** False if only the connectivity of the endpoint changed. */
  whole: boolean
}

/** Lets one transaction at a time update the directory. */
async function lockDirectory(sql: Sql) {
  await sql`select pg_advisory_xact_lock(hashtextextended('register.directory', 0))`
}

export async function isQueueEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ isEmpty: boolean }[]>`select not exists (select from register.directory_queue) as is_empty`
  return row!.isEmpty
}

/**
 * Merges the list of new entries into the metadata index of the table of endpoints. The task that updates the directory calls this function
 * after endpoints have changed. Otherwise an insert would merge the list when it reaches 8 MB, and until then searches would read the list.
 */
export async function mergeMetadataIndex(sql: Sql) {
  await sql`select gin_clean_pending_list('register.endpoints_metadata')`
}

/** Takes endpoints from the queue. Only one node does so at a time. */
export async function takeFromQueue(sql: Sql, limit: number): Promise<QueuedEndpoint[]> {
  await lockDirectory(sql)
  return await sql<QueuedEndpoint[]>`
    delete from register.directory_queue where ctid = any(array(select ctid from register.directory_queue limit ${limit}))
    returning tenant_id, application_name, seq, whole`
}

export interface ChangedEndpoint extends EndpointKey {
  endpointId: string
  versionName: string
  /** The metadata; null if only the connectivity changed. */
  metadata: Metadata | null
  reportedLatitude: number | null
  reportedLongitude: number | null
}

/** Reads changed endpoints. Deleted endpoints are not in the result. */
export async function findChanged(sql: Sql, queued: QueuedEndpoint[]): Promise<ChangedEndpoint[]> {
  return await sql<ChangedEndpoint[]>`
    select e.tenant_id, e.application_name, e.seq, e.endpoint_id, e.version_name, case when q.whole then e.metadata end as metadata,
      r.latitude as reported_latitude, r.longitude as reported_longitude
    from jsonb_to_recordset(${sql.json(queued)}) as q("tenantId" text, seq bigint, whole boolean)
      join register.endpoints e on e.tenant_id = q."tenantId" and e.seq = q.seq
      left join register.reported_places r
        on r.tenant_id = e.tenant_id and r.application_name = e.application_name and r.seq = e.seq
    order by e.seq`
}

export interface StoredDocument extends EndpointKey {
  text: string
  sorted: Record<string, string>
  counted: Record<string, string>
  latitude: number | null
  longitude: number | null
}

export async function findDocuments(sql: Sql, keys: EndpointKey[]): Promise<StoredDocument[]> {
  return await sql<StoredDocument[]>`
    select d.tenant_id, d.application_name, d.seq, d.text, d.sorted, d.counted, d.latitude, d.longitude
    from jsonb_to_recordset(${sql.json(keys)}) as k("tenantId" text, "applicationName" text, seq bigint)
      join register.documents d on d.tenant_id = k."tenantId" and d.application_name = k."applicationName" and d.seq = k.seq`
}

export async function saveDocuments(sql: Sql, documents: (EndpointKey & DirectoryDocument)[]) {
  const rows = documents.map(({ place, ...document }) => ({ ...document, ...place }))
  await sql`
    insert into register.documents (tenant_id, application_name, seq, text, grams, sorted, counted, latitude, longitude)
    select "tenantId", "applicationName", seq, text, grams, sorted, counted, latitude, longitude
    from jsonb_to_recordset(${sql.json(rows)}) as d("tenantId" text, "applicationName" text, seq bigint, text text,
      grams integer[], sorted jsonb, counted jsonb, latitude integer, longitude integer)
    on conflict (tenant_id, application_name, seq) do update set text = excluded.text, grams = excluded.grams,
      sorted = excluded.sorted, counted = excluded.counted, latitude = excluded.latitude, longitude = excluded.longitude`
}

export async function deleteDocuments(sql: Sql, keys: EndpointKey[]) {
  const deleted = (table: string) => sql`
    delete from ${sql.unsafe(`register.${table}`)} d
    using jsonb_to_recordset(${sql.json(keys)}) as k("tenantId" text, "applicationName" text, seq bigint)
    where d.tenant_id = k."tenantId" and d.application_name = k."applicationName" and d.seq = k.seq`
  await deleted('documents')
  await deleted('reported_places')
  const rows = await sql<ConnectionOf[]>`
    ${deleted('activity')} returning d.tenant_id, d.application_name, d.connection`
  await addToValueCounts(
    sql,
    rows.flatMap((row) => connectionCount(row, -1)),
  )
}

interface ConnectionOf {
  tenantId: string
  applicationName: string
  connection: number
}

/** Returns the difference for the counts by connection. Endpoints that have never connected are not counted, because most have no row. */
const connectionCount = ({ tenantId, applicationName, connection }: ConnectionOf, count: number): ValueCount[] =>
  connection === 0 ? [] : [{ tenantId, applicationName, key: connectionKey, value: String(connection), count }]

export interface SortValue extends EndpointKey {
  key: string
  value: string
}

export async function replaceSortValues(sql: Sql, removed: SortValue[], added: SortValue[]) {
  const columns = sql`v("tenantId" text, "applicationName" text, key text, value text, seq bigint)`
  if (removed.length > 0)
    await sql`
      delete from register.sort_values s using jsonb_to_recordset(${sql.json(removed)}) as ${columns}
      where s.tenant_id = v."tenantId" and s.application_name = v."applicationName" and s.key = v.key and s.value = v.value
        and s.seq = v.seq`
  if (added.length > 0)
    await sql`
      insert into register.sort_values (tenant_id, application_name, key, value, seq)
      select "tenantId", "applicationName", key, value, seq from jsonb_to_recordset(${sql.json(added)}) as ${columns}
      order by 1, 2, 3, 4, 5 on conflict do nothing`
}

/** Copies the connectivity of endpoints to the table `activity`, and updates the counts by connection. */
export async function saveConnections(sql: Sql, keys: EndpointKey[]) {
  const rows = await sql<(ConnectionOf & { count: number })[]>`
    with given as materialized (
      select e.tenant_id, e.application_name, e.seq, ${connectionSql(sql)} as connection, e.connectivity_ts as at
      from jsonb_to_recordset(${sql.json(keys)}) as k("tenantId" text, seq bigint)
        join register.endpoints e on e.tenant_id = k."tenantId" and e.seq = k.seq
      where e.connectivity_ts is not null),
    before as materialized (
      select a.tenant_id, a.application_name, a.seq, a.connection
      from given g join register.activity a using (tenant_id, application_name, seq)),
    saved as (
      insert into register.activity as known (tenant_id, application_name, seq, connection, at)
      select tenant_id, application_name, seq, connection, at from given order by seq
      on conflict (tenant_id, application_name, seq)
        do update set connection = excluded.connection, at = greatest(known.at, excluded.at)
        where known.connection <> excluded.connection or known.at < excluded.at
      returning tenant_id, application_name, seq, connection)
    select tenant_id, application_name, connection, sum(n)::bigint as count from (
      select tenant_id, application_name, connection, 1 as n from saved
      union all
      select b.tenant_id, b.application_name, b.connection, -1 from saved s join before b using (tenant_id, application_name, seq)) d
    group by 1, 2, 3`
  await addToValueCounts(
    sql,
    rows.flatMap(({ count, ...row }) => connectionCount(row, count)),
  )
}

/**
 * Stores when endpoints were active. A stored time is replaced only by a time more than a minute later, so that a device that sends often
 * causes few writes. A new row starts as never connected, because only `saveConnections` sets the connection; it runs later if the endpoint
 * is in the queue.
 */
export async function saveActivity(sql: Sql, active: { endpointId: string; at: Date }[]) {
  await sql`
    insert into register.activity as known (tenant_id, application_name, seq, connection, at)
    select e.tenant_id, e.application_name, e.seq, 0, given.at
    from unnest(${active.map(({ endpointId }) => endpointId)}::text[], ${active.map(({ at }) => at.toISOString())}::text[]::timestamptz[])
      as given(endpoint_id, at) join register.endpoints e on e.endpoint_id = given.endpoint_id
    order by e.seq
    on conflict (tenant_id, application_name, seq) do update set at = excluded.at
      where known.at < excluded.at - interval '1 minute'`
}

/**
 * Enqueues up to `limit` endpoints of an application whose number (`seq`) is greater than `after`. Returns the last of these numbers, or
 * undefined if no endpoint is left.
 */
export async function enqueueAll(
  sql: Sql,
  page: { tenantId: string; applicationName: string; after: number; limit: number },
): Promise<number | undefined> {
  const [row] = await sql<[{ last: number | null }]>`
    with page as (
      select seq from register.endpoints where tenant_id = ${page.tenantId} and application_name >= ${page.applicationName}
        and application_name <= ${page.applicationName} and seq > ${page.after}
      order by application_name, seq limit ${page.limit}),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select ${page.tenantId}, ${page.applicationName}, seq, true from page)
    select max(seq) as last from page`
  return row.last ?? undefined
}

const tables = [
  ...[
    'directory_queue',
    'documents',
    'sort_values',
    'activity',
    'places',
    'place_cells',
    'reported_places',
    'value_counts',
  ],
]

/** Deletes a part of a deleted tenant's directory. Returns false when nothing is left. */
export async function deleteDirectoryOfTenant(sql: Sql, tenantId: string, limit: number): Promise<boolean> {
  // An update that read an endpoint before its deletion must not write the endpoint's document afterwards.
  await lockDirectory(sql)
  for (const table of tables) {
    const name = sql.unsafe(`register.${table}`)
    const { count } = await sql`
      delete from ${name} where ctid = any(array(select ctid from ${name} where tenant_id = ${tenantId} limit ${limit}))`
    if (count > 0) return true
  }
  return false
}
