/** Deletes rows of deleted endpoints, versions and tenants, old records, and contents without references. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { ConfigurationKey } from './configs.ts'

/** Maximum number of records for each combination of endpoint, version and name, including the effective configuration. */
export const recordsMax = 20

/**
 * Deletes the oldest rows of the history (`sent_configs`) beyond the limit. One row fewer than `recordsMax` is kept, because the effective
 * configuration counts as a record even if it has no row in the history. The row of the current default is kept.
 */
export async function pruneSent(sql: Sql, keys: ConfigurationKey[], at: Date) {
  const column = (name: keyof ConfigurationKey) => keys.map((key) => key[name])
  await sql`
    with given as (
      select distinct * from unnest(${column('tenantId')}::text[], ${column('endpointId')}::text[],
        ${column('versionName')}::text[], ${column('name')}::text[]) as g(tenant_id, endpoint_id, version_name, name)),
    excess as (
      select old.* from given g cross join lateral (
        select s.tenant_id, s.endpoint_id, s.version_name, s.name, s.config_id from configuration.sent_configs s
        where s.tenant_id = g.tenant_id and s.endpoint_id = g.endpoint_id and s.version_name = g.version_name
          and s.name = g.name
        order by exists (select 1 from configuration.defaults d where d.tenant_id = s.tenant_id
          and d.version_name = s.version_name and d.name = s.name and d.config_id = s.config_id) desc,
          s.updated_date desc, s.config_id
        offset ${recordsMax - 1}) old),
    deleted as (
      delete from configuration.sent_configs s using excess x
      where s.tenant_id = x.tenant_id and s.endpoint_id = x.endpoint_id and s.version_name = x.version_name
        and s.name = x.name and s.config_id = x.config_id
      returning s.tenant_id, s.config_id)
    insert into configuration.released_contents (tenant_id, config_id, released_date)
    select distinct tenant_id, config_id, ${at}::timestamptz from deleted`
}

/**
 * Deletes contents that were released before this date and have no reference. Returns how many rows of `released_contents` were processed.
 */
export async function sweepContents(sql: Sql, before: Date, limit: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    with taken as (
      delete from configuration.released_contents where ctid = any(array(
        select ctid from configuration.released_contents where released_date < ${before}
        order by released_date limit ${limit} for update skip locked))
      returning tenant_id, config_id),
    deleted as (
      delete from configuration.contents c using (select distinct tenant_id, config_id from taken) as t
      where c.tenant_id = t.tenant_id and c.config_id = t.config_id
        and not exists (select 1 from configuration.defaults d
          where d.tenant_id = t.tenant_id and d.config_id = t.config_id)
        and not exists (select 1 from configuration.endpoint_configs o
          where o.tenant_id = t.tenant_id and o.config_id = t.config_id)
        and not exists (select 1 from configuration.sent_configs s
          where s.tenant_id = t.tenant_id and s.config_id = t.config_id))
    select count(*)::int as count from taken`
  return row?.count ?? 0
}

/**
 * Deletes rows of unregistered endpoints. If an endpoint was registered again, its rows after `until` are kept. If an endpoint is not
 * registered, all its rows are deleted: a node whose clock is ahead may have dated them after `until`. `registered` returns a subquery of
 * all registered endpoints.
 */
export async function deleteOfEndpoints(
  sql: Sql,
  registered: (sql: Sql) => Fragment,
  { tenantId, endpointIds, until }: { tenantId: string; endpointIds: string[]; until: Date },
  at: Date,
) {
  await sql`
    with again as materialized (
      select endpoint_id from (${registered(sql)}) as e where endpoint_id = any(${endpointIds}::text[])),
    own as (
      delete from configuration.endpoint_configs
      where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[])
        and (updated_date <= ${until} or endpoint_id not in (select endpoint_id from again))
      returning config_id),
    sent as (
      delete from configuration.sent_configs
      where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[])
        and (coalesce(dispatched_date, confirmed_date) <= ${until} or endpoint_id not in (select endpoint_id from again))
      returning config_id),
    system as (
      delete from configuration.system_configs
      where tenant_id = ${tenantId} and level = 'ENDPOINT' and entity_id = any(${endpointIds}::text[])
        and (updated_date <= ${until} or entity_id not in (select endpoint_id from again)))
    insert into configuration.released_contents (tenant_id, config_id, released_date)
    select ${tenantId}, config_id, ${at}::timestamptz from (select * from own union select * from sent) as gone`
}

/**
 * Deletes rows that a concurrent request wrote for an endpoint while the endpoint was being unregistered. `endpoints` returns a subquery of
 * all registered endpoints.
 */
export async function deleteOrphans(sql: Sql, endpoints: (sql: Sql) => Fragment, since: Date, at: Date) {
  await sql`
    with own as (
      delete from configuration.endpoint_configs o where o.updated_date > ${since}
        and not exists (select 1 from (${endpoints(sql)}) as e where e.endpoint_id = o.endpoint_id)
      returning o.tenant_id, o.config_id)
    insert into configuration.released_contents (tenant_id, config_id, released_date)
    select distinct tenant_id, config_id, ${at}::timestamptz from own`
}

interface OfVersion {
  tenantId: string
  versionName: string
  until: Date
}

export async function deleteDefaultsOfVersion(sql: Sql, { tenantId, versionName, until }: OfVersion, at: Date) {
  await sql`
    with system as (
      delete from configuration.system_configs where tenant_id = ${tenantId} and level = 'APP_VERSION'
        and entity_id = ${versionName} and updated_date <= ${until}),
    gone as (
      delete from configuration.defaults
      where tenant_id = ${tenantId} and version_name = ${versionName} and updated_date <= ${until} returning config_id)
    insert into configuration.released_contents (tenant_id, config_id, released_date)
    select ${tenantId}, config_id, ${at}::timestamptz from gone`
}

export async function deleteSystemOfApplication(sql: Sql, tenantId: string, applicationName: string) {
  await sql`
    delete from configuration.system_configs
    where tenant_id = ${tenantId} and level = 'APPLICATION' and entity_id = ${applicationName}`
}

/** Deletes the endpoint rows of a deleted version, up to `limit` in each table. Returns how many were deleted. */
export async function deleteSomeOfVersion(sql: Sql, version: OfVersion, limit: number, at: Date): Promise<number> {
  const { tenantId, versionName, until } = version
  const [row] = await sql<{ count: number }[]>`
    with own as (
      delete from configuration.endpoint_configs where ctid = any(array(
        select ctid from configuration.endpoint_configs
        where tenant_id = ${tenantId} and version_name = ${versionName} and updated_date <= ${until} limit ${limit}))
      returning config_id),
    sent as (
      delete from configuration.sent_configs where ctid = any(array(
        select ctid from configuration.sent_configs
        where tenant_id = ${tenantId} and version_name = ${versionName} and updated_date <= ${until} limit ${limit}))
      returning config_id),
    released as (
      insert into configuration.released_contents (tenant_id, config_id, released_date)
      select ${tenantId}, config_id, ${at}::timestamptz from (select * from own union select * from sent) as gone)
    select (select count(*) from own)::int + (select count(*) from sent)::int as count`
  return row?.count ?? 0
}

const tables = [
  'system_configs',
  'defaults',
  'endpoint_configs',
  'sent_configs',
  'contents',
  'released_contents',
] as const

/** Deletes a deleted tenant's rows, up to `limit` in each table. Returns how many were deleted. */
export async function deleteSomeOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  let deleted = 0
  for (const table of tables) {
    const { count } = await sql.unsafe(
      `delete from configuration.${table} where ctid = any(array(
        select ctid from configuration.${table} where tenant_id = $1 limit $2))`,
      [tenantId, limit],
    )
    deleted += count
  }
  return deleted
}
