/** Statements over the endpoints on a page of a bulk task. */
import type { Sql } from '../../../../kernel/db.ts'
import type { EndpointRef } from '../../contract.ts'
import type { Metadata } from '../../metadata/metadata.ts'
import { allColumns, type EndpointRow, refColumns } from './endpoints.ts'

export async function findNumbersOf(sql: Sql, endpointIds: string[]): Promise<Map<string, number>> {
  const rows = await sql<{ endpointId: string; seq: number }[]>`
    select endpoint_id, seq from register.endpoints where endpoint_id = any(${endpointIds}::text[])`
  return new Map(rows.map(({ endpointId, seq }) => [endpointId, seq]))
}

export async function findRefsByNumbers(
  sql: Sql,
  tenantId: string,
  numbers: number[],
): Promise<(EndpointRef & { seq: number })[]> {
  return await sql<(EndpointRef & { seq: number })[]>`
    select ${refColumns(sql)}, seq from register.endpoints
    where tenant_id = ${tenantId} and seq = any(${numbers}::bigint[]) order by seq`
}

/** Finds endpoints and blocks their deletion until the transaction ends. The lock is shared. */
export async function lockNumberedShared(
  sql: Sql,
  tenantId: string,
  endpointIds: string[],
): Promise<(EndpointRef & { seq: number })[]> {
  return await sql<(EndpointRef & { seq: number })[]>`
    select ${refColumns(sql)}, seq from register.endpoints
    where endpoint_id = any(${endpointIds}::text[]) and tenant_id = ${tenantId} order by endpoint_id for key share`
}

/** Locks endpoints, so that their changes run one after the other. */
export async function lockEndpoints(sql: Sql, tenantId: string, endpointIds: string[]): Promise<EndpointRow[]> {
  return await sql<EndpointRow[]>`
    select ${allColumns(sql)} from register.endpoints
    where endpoint_id = any(${endpointIds}::text[]) and tenant_id = ${tenantId} order by endpoint_id for update`
}

export interface MetadataToSave extends EndpointRef {
  metadata: Metadata
  addedKeys: string[]
  removedKeys: string[]
}

/** Saves the metadata of several endpoints and updates the counts of their keys. */
export async function saveMetadataOfMany(sql: Sql, changes: MetadataToSave[], at: Date) {
  const counted = new Map<string, { change: MetadataToSave; key: string; difference: number }>()
  for (const change of changes)
    for (const [keys, difference] of [
      [change.addedKeys, 1],
      [change.removedKeys, -1],
    ] as const)
      for (const key of keys) {
        const name = JSON.stringify([change.applicationName, change.versionName, key])
        const sum = counted.get(name)
        if (sum) sum.difference += difference
        else counted.set(name, { change, key, difference })
      }
  const differences = [...counted.values()]
  await sql`
    with changed as (
      update register.endpoints e set metadata = c.metadata, metadata_revision = e.metadata_revision + 1,
        metadata_updated_date = ${at}
      from jsonb_to_recordset(${sql.json(changes.map(({ endpointId, metadata }) => ({ id: endpointId, metadata })) as never)})
        as c(id text, metadata jsonb)
      where e.endpoint_id = c.id returning e.tenant_id, e.application_name, e.seq),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select tenant_id, application_name, seq, true from changed)
    insert into register.count_differences (tenant_id, metadata_key, application_name, version_name, difference)
    select * from unnest(${differences.map(({ change }) => change.tenantId)}::text[], ${differences.map(({ key }) => key)}::text[],
      ${differences.map(({ change }) => change.applicationName)}::text[], ${differences.map(({ change }) => change.versionName)}::text[],
      ${differences.map(({ difference }) => difference)}::integer[])`
}

/** Moves several endpoints of one application to a version and updates the counts. */
export async function saveVersionOfMany(sql: Sql, rows: EndpointRow[], versionName: string, at: Date) {
  await sql`
    with before as (
      select endpoint_id, version_name from unnest(${rows.map((row) => row.endpointId)}::text[],
        ${rows.map((row) => row.versionName)}::text[]) as b(endpoint_id, version_name)),
    moved as (
      update register.endpoints e set version_name = ${versionName}, version_registered_date = ${at}
      from before b where e.endpoint_id = b.endpoint_id
      returning e.tenant_id, e.application_name, e.seq, e.metadata, b.version_name as before),
    queued as (
      insert into register.directory_queue (tenant_id, application_name, seq, whole)
      select tenant_id, application_name, seq, true from moved),
    keyed as (
      select tenant_id, application_name, before, key from moved,
        lateral (select '' as key union all select jsonb_object_keys(metadata)) keys)
    insert into register.count_differences (tenant_id, metadata_key, application_name, version_name, difference)
    select tenant_id, key, application_name, before, -count(*) from keyed group by tenant_id, key, application_name, before
    union all
    select tenant_id, key, application_name, ${versionName}, count(*) from keyed group by tenant_id, key, application_name`
}
