/** SQL of deliveries to devices and their reports, and of the configurations that devices lack. Each statement handles many endpoints. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { ConfigurationKey } from './configs.ts'

/** An endpoint with its current version. */
export interface DeviceRef {
  tenantId: string
  endpointId: string
  versionName: string
}

export interface EffectiveRow {
  /** Index of the endpoint in the request. */
  position: number
  name: string
  configId: string
}

const deviceRows = (sql: Sql, endpoints: DeviceRef[]): Fragment => sql`
  unnest(${endpoints.map(({ tenantId }) => tenantId)}::text[], ${endpoints.map(({ endpointId }) => endpointId)}::text[],
    ${endpoints.map(({ versionName }) => versionName)}::text[])
    with ordinality as g(tenant_id, endpoint_id, version_name, position)`

const hasOwn = (sql: Sql): Fragment => sql`exists (
  select 1 from configuration.endpoint_configs o where o.tenant_id = g.tenant_id and o.endpoint_id = g.endpoint_id
    and o.version_name = g.version_name and o.name = d.name)`

/** Finds the id of the effective configuration of one name. */
export async function findEffectiveId(sql: Sql, key: ConfigurationKey): Promise<string | undefined> {
  const { tenantId, endpointId, versionName, name } = key
  const [row] = await sql<{ configId: string }[]>`
    select config_id from (
      select 0 as rank, config_id from configuration.endpoint_configs
      where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and version_name = ${versionName} and name = ${name}
      union all
      select 1, config_id from configuration.defaults
      where tenant_id = ${tenantId} and version_name = ${versionName} and name = ${name}) as f
    order by rank limit 1`
  return row?.configId
}

/** Finds the effective configurations of endpoints, for all names. */
export async function findEffectiveIds(sql: Sql, endpoints: DeviceRef[]): Promise<EffectiveRow[]> {
  return await sql<EffectiveRow[]>`
    select g.position::int - 1 as position, e.name, e.config_id
    from ${deviceRows(sql, endpoints)} cross join lateral (${effective(sql)}) as e order by g.position, e.name`
}

const effective = (sql: Sql): Fragment => sql`
  select o.name, o.config_id, o.dispatched_date from configuration.endpoint_configs o
  where o.tenant_id = g.tenant_id and o.endpoint_id = g.endpoint_id and o.version_name = g.version_name
  union all
  select d.name, d.config_id, (
    select s.dispatched_date from configuration.sent_configs s where s.tenant_id = g.tenant_id
      and s.endpoint_id = g.endpoint_id and s.version_name = g.version_name and s.name = d.name
      and s.config_id = d.config_id)
  from configuration.defaults d
  where d.tenant_id = g.tenant_id and d.version_name = g.version_name and not ${hasOwn(sql)}`

/** Finds effective configurations that differ from the configuration of the same name that the endpoint applied last, in any version. */
export async function findOutdated(sql: Sql, endpoints: DeviceRef[]): Promise<EffectiveRow[]> {
  return await sql<EffectiveRow[]>`
    select g.position::int - 1 as position, e.name, e.config_id
    from ${deviceRows(sql, endpoints)} cross join lateral (${effective(sql)}) as e
    where e.config_id is distinct from (
      select applied.config_id from (
        select o.config_id, o.confirmed_date from configuration.endpoint_configs o
        where o.tenant_id = g.tenant_id and o.endpoint_id = g.endpoint_id and o.name = e.name
          and o.status_code between 200 and 299
        union all
        select s.config_id, s.confirmed_date from configuration.sent_configs s
        where s.tenant_id = g.tenant_id and s.endpoint_id = g.endpoint_id and s.name = e.name
          and s.status_code between 200 and 299) as applied
      order by applied.confirmed_date desc limit 1)
    order by g.position, e.name`
}

/** Finds effective configurations that were never delivered. */
export async function findUndispatched(sql: Sql, endpoints: DeviceRef[]): Promise<EffectiveRow[]> {
  return await sql<EffectiveRow[]>`
    select g.position::int - 1 as position, e.name, e.config_id
    from ${deviceRows(sql, endpoints)} cross join lateral (${effective(sql)}) as e
    where e.dispatched_date is null order by g.position, e.name`
}

/** Returns the endpoints whose own configuration has this id and was not delivered yet, ordered by id. */
export async function findUndispatchedOf(
  sql: Sql,
  { tenantId, configId, after, limit }: { tenantId: string; configId: string; after: string; limit: number },
): Promise<{ endpointId: string; versionName: string; name: string }[]> {
  return await sql<{ endpointId: string; versionName: string; name: string }[]>`
    select endpoint_id, version_name, name from configuration.endpoint_configs
    where tenant_id = ${tenantId} and config_id = ${configId} and dispatched_date is null and endpoint_id > ${after}
    order by endpoint_id limit ${limit}`
}

/** A configuration that was delivered to a device, or on which a device has reported. */
export interface Handover extends ConfigurationKey {
  applicationName: string
  configId: string
}

const columns = (sql: Sql, items: Handover[]): Fragment => {
  const column = (key: keyof Handover) => items.map((item) => item[key])
  return sql`${column('tenantId')}::text[], ${column('endpointId')}::text[], ${column('versionName')}::text[],
    ${column('name')}::text[], ${column('applicationName')}::text[], ${column('configId')}::text[]`
}

/** A delivery that was recorded in the history, because the configuration is not the endpoint's own current configuration. */
export interface RecordedHandover extends ConfigurationKey {
  /** True if the history has grown. */
  isNew: boolean
  /** True if another configuration is effective now. */
  isReplaced: boolean
}

/**
 * Marks configurations as delivered. Defaults, and configurations that were replaced meanwhile, get a row in the history and are returned.
 * The `case` makes the planner use the primary key; without statistics it would read all configurations of the version for each delivery.
 */
export async function markDispatched(sql: Sql, items: Handover[], at: Date): Promise<RecordedHandover[]> {
  return await sql<RecordedHandover[]>`
    with given as materialized (
      select row_number() over () as position, g.* from (
        select distinct * from unnest(${columns(sql, items)})
          as u(tenant_id, endpoint_id, version_name, name, application_name, config_id)) as g),
    marked as (
      update configuration.endpoint_configs o set dispatched_date = ${at} from given g
      where o.tenant_id = g.tenant_id and o.endpoint_id = g.endpoint_id and o.name = g.name
        and case when o.version_name = g.version_name and o.config_id = g.config_id then true else false end
      returning g.position),
    inserted as (insert into configuration.sent_configs
      (tenant_id, endpoint_id, version_name, name, config_id, application_name, updated_date, dispatched_date)
    select distinct on (g.tenant_id, g.endpoint_id, g.version_name, g.name, g.config_id)
      g.tenant_id, g.endpoint_id, g.version_name, g.name, g.config_id, g.application_name,
      coalesce(d.updated_date, ${at}::timestamptz), ${at}::timestamptz
    from given g
    join configuration.contents c on c.tenant_id = g.tenant_id and c.config_id = g.config_id
    left join configuration.defaults d on d.tenant_id = g.tenant_id and d.version_name = g.version_name
      and d.name = g.name and d.config_id = g.config_id
    where g.position not in (select position from marked)
    on conflict (tenant_id, endpoint_id, version_name, name, config_id) do update set dispatched_date = ${at}
    returning tenant_id, endpoint_id, version_name, name, config_id, (xmax = 0) as is_new)
    select s.tenant_id, s.endpoint_id, s.version_name, s.name, s.is_new,
      exists (select 1 from configuration.endpoint_configs o where o.tenant_id = s.tenant_id
        and o.endpoint_id = s.endpoint_id and o.version_name = s.version_name and o.name = s.name)
      or not exists (select 1 from configuration.defaults d where d.tenant_id = s.tenant_id
        and d.version_name = s.version_name and d.name = s.name and d.config_id = s.config_id) as is_replaced
    from inserted s`
}

export interface Report extends Handover {
  statusCode: number
  reasonPhrase: string | null
}

/**
 * Records the reports of endpoints on configurations: on their own configuration, on an earlier configuration that was sent to them, or on
 * the default. Returns the indexes of reports on known configurations. The same `configId` may belong to several versions of an endpoint;
 * the report then counts for all these versions.
 */
export async function recordReports(sql: Sql, reports: Report[], at: Date): Promise<number[]> {
  const rows = await sql<{ position: number }[]>`
    with given as (
      select * from unnest(${columns(sql, reports)}, ${reports.map(({ statusCode }) => statusCode)}::int[],
          ${reports.map(({ reasonPhrase }) => reasonPhrase)}::text[])
        with ordinality as g(tenant_id, endpoint_id, version_name, name, application_name, config_id, status_code,
          reason_phrase, position)),
    current as (
      update configuration.endpoint_configs o set confirmed_date = ${at}, status_code = g.status_code,
        reason_phrase = g.reason_phrase
      from given g where o.tenant_id = g.tenant_id and o.endpoint_id = g.endpoint_id and o.name = g.name
        and o.config_id = g.config_id
      returning g.position),
    earlier as (
      update configuration.sent_configs s set confirmed_date = ${at}, status_code = g.status_code,
        reason_phrase = g.reason_phrase
      from given g where s.tenant_id = g.tenant_id and s.endpoint_id = g.endpoint_id and s.name = g.name
        and s.config_id = g.config_id
      returning g.position),
    by_default as (
      insert into configuration.sent_configs (tenant_id, endpoint_id, version_name, name, config_id, application_name,
        updated_date, confirmed_date, status_code, reason_phrase)
      select g.tenant_id, g.endpoint_id, g.version_name, g.name, g.config_id, g.application_name, d.updated_date,
        ${at}::timestamptz, g.status_code, g.reason_phrase
      from given g join configuration.defaults d on d.tenant_id = g.tenant_id and d.version_name = g.version_name
        and d.name = g.name and d.config_id = g.config_id
      where not ${hasOwn(sql)}
      on conflict (tenant_id, endpoint_id, version_name, name, config_id) do nothing)
    select position::int - 1 as position from current union
    select position::int - 1 from earlier union
    select g.position::int - 1 from given g join configuration.defaults d on d.tenant_id = g.tenant_id
      and d.version_name = g.version_name and d.name = g.name and d.config_id = g.config_id where not ${hasOwn(sql)}`
  return rows.map(({ position }) => position)
}
