/** SQL of configurations of endpoints and defaults of versions. */
import type { Fragment, Sql } from '../../../kernel/db.ts'

/** Identifies the default configuration of a version. */
export interface DefaultKey {
  tenantId: string
  versionName: string
  name: string
}
/** Identifies the configuration of one endpoint. */
export interface ConfigurationKey extends DefaultKey {
  endpointId: string
}

export interface ConfigRow {
  name: string
  configId: string
  /** JSON text. */
  config: string
  createdDate: Date
  updatedDate: Date
}

export interface Content {
  configId: string
  config: string
  digest: string
}

/** The current configuration of a key, without its text. */
export interface CurrentRow {
  configId: string
  digest: string
  createdDate: Date
  updatedDate: Date
}

const lockOf = (sql: Sql, kind: string, ...parts: string[]): Fragment =>
  sql`hashtextextended(${['configuration', kind, ...parts].join('\n')}, 0)`

/**
 * Locks the endpoint, so that its writers run one after the other. A batch locks the whole tenant instead, which excludes all these
 * writers.
 */
export async function lockEndpoint(sql: Sql, { tenantId, endpointId }: { tenantId: string; endpointId: string }) {
  await sql`
    select pg_advisory_xact_lock_shared(${lockOf(sql, 'tenant', tenantId)}),
      pg_advisory_xact_lock(${lockOf(sql, 'endpoint', endpointId)})`
}

export async function lockTenant(sql: Sql, tenantId: string) {
  await sql`select pg_advisory_xact_lock(${lockOf(sql, 'tenant', tenantId)})`
}

export async function lockDefault(sql: Sql, { tenantId, versionName }: DefaultKey) {
  await sql`select pg_advisory_xact_lock(${lockOf(sql, 'default', tenantId, versionName)})`
}

const isOwn = (sql: Sql, { tenantId, endpointId, versionName, name }: ConfigurationKey): Fragment =>
  sql`tenant_id = ${tenantId} and endpoint_id = ${endpointId} and version_name = ${versionName} and name = ${name}`

const isDefault = (sql: Sql, { tenantId, versionName, name }: DefaultKey): Fragment =>
  sql`tenant_id = ${tenantId} and version_name = ${versionName} and name = ${name}`

/** Finds the endpoint's own configuration, otherwise the default of the version. */
export async function findEffective(sql: Sql, key: ConfigurationKey): Promise<ConfigRow | undefined> {
  const [row] = await sql<ConfigRow[]>`
    select ${key.name} as name, f.config_id, c.config, f.created_date, f.updated_date
    from (
      select 0 as rank, config_id, created_date, updated_date
      from configuration.endpoint_configs where ${isOwn(sql, key)}
      union all
      select 1, config_id, created_date, updated_date
      from configuration.defaults where ${isDefault(sql, key)}) as f
    join configuration.contents c on c.tenant_id = ${key.tenantId} and c.config_id = f.config_id
    order by f.rank limit 1`
  return row
}

export async function findDefault(sql: Sql, key: DefaultKey): Promise<ConfigRow | undefined> {
  const [row] = await sql<ConfigRow[]>`
    select d.name, d.config_id, c.config, d.created_date, d.updated_date
    from configuration.defaults d join configuration.contents c using (tenant_id, config_id)
    where ${isDefault(sql, key)}`
  return row
}

interface NamesAfter {
  tenantId: string
  versionName: string
  after: string
  limit: number
}

export async function findOwnAfter(
  sql: Sql,
  { tenantId, endpointId, versionName, after, limit }: NamesAfter & { endpointId: string },
): Promise<ConfigRow[]> {
  return await sql<ConfigRow[]>`
    select o.name, o.config_id, c.config, o.created_date, o.updated_date
    from configuration.endpoint_configs o join configuration.contents c using (tenant_id, config_id)
    where o.tenant_id = ${tenantId} and o.endpoint_id = ${endpointId} and o.version_name = ${versionName}
      and o.name > ${after}
    order by o.name limit ${limit}`
}

export async function findDefaultsAfter(
  sql: Sql,
  { tenantId, versionName, after, limit }: NamesAfter,
): Promise<ConfigRow[]> {
  return await sql<ConfigRow[]>`
    select d.name, d.config_id, c.config, d.created_date, d.updated_date
    from configuration.defaults d join configuration.contents c using (tenant_id, config_id)
    where d.tenant_id = ${tenantId} and d.version_name = ${versionName} and d.name > ${after}
    order by d.name limit ${limit}`
}

export async function findOwn(sql: Sql, key: ConfigurationKey): Promise<CurrentRow | undefined> {
  const [row] = await sql<CurrentRow[]>`
    select config_id, c.digest, o.created_date, o.updated_date
    from configuration.endpoint_configs o join configuration.contents c using (tenant_id, config_id)
    where ${isOwn(sql, key)}`
  return row
}

export async function findCurrentDefault(sql: Sql, key: DefaultKey): Promise<CurrentRow | undefined> {
  const [row] = await sql<CurrentRow[]>`
    select config_id, c.digest, d.created_date, d.updated_date
    from configuration.defaults d join configuration.contents c using (tenant_id, config_id)
    where ${isDefault(sql, key)}`
  return row
}

export async function insertContent(sql: Sql, tenantId: string, { configId, config, digest }: Content) {
  await sql`
    insert into configuration.contents (tenant_id, config_id, config, digest)
    values (${tenantId}, ${configId}, ${config}, ${digest})`
}

/**
 * Called for each page of a bulk task. Inserts the content with the first page, and locks it with later pages, so that it is not deleted.
 */
export async function insertContentOnce(sql: Sql, tenantId: string, { configId, config, digest }: Content) {
  await sql`
    insert into configuration.contents (tenant_id, config_id, config, digest)
    values (${tenantId}, ${configId}, ${config}, ${digest})
    on conflict (tenant_id, config_id) do update set digest = excluded.digest`
}

export async function findContents(sql: Sql, tenantId: string, configIds: string[]) {
  return await sql<{ configId: string; config: string }[]>`
    select config_id, config from configuration.contents
    where tenant_id = ${tenantId} and config_id = any(${configIds}::text[])`
}

/** Endpoints of one version that get the same configuration. */
export interface Target {
  tenantId: string
  applicationName: string
  versionName: string
  endpointIds: string[]
}

/**
 * Counts the endpoints of the target that have a configuration with this digest. Also counts how many different ids these configurations
 * have.
 */
export async function compareOwn(sql: Sql, target: Target, name: string, digest: string) {
  const [row] = await sql<
    { equal: number; configId: string | null; kinds: number; createdDate: Date; updatedDate: Date }[]
  >`
    select count(*)::int as equal, min(o.config_id) as config_id, count(distinct o.config_id)::int as kinds,
      min(o.created_date) as created_date, min(o.updated_date) as updated_date
    from unnest(${target.endpointIds}::text[]) as given(endpoint_id)
    join configuration.endpoint_configs o on o.tenant_id = ${target.tenantId} and o.endpoint_id = given.endpoint_id
      and o.version_name = ${target.versionName} and o.name = ${name}
    join configuration.contents c on c.tenant_id = o.tenant_id and c.config_id = o.config_id and c.digest = ${digest}`
  return row!
}

/** Returns the endpoints of the target that have a configuration with this digest. */
export async function findUnchanged(sql: Sql, target: Target, name: string, digest: string): Promise<Set<string>> {
  const rows = await sql<{ endpointId: string }[]>`
    select o.endpoint_id from configuration.endpoint_configs o
      join configuration.contents c on c.tenant_id = o.tenant_id and c.config_id = o.config_id and c.digest = ${digest}
    where o.tenant_id = ${target.tenantId} and o.endpoint_id = any(${target.endpointIds}::text[])
      and o.version_name = ${target.versionName} and o.name = ${name}`
  return new Set(rows.map(({ endpointId }) => endpointId))
}

const statusColumns = (sql: Sql): Fragment => sql`dispatched_date, confirmed_date, status_code, reason_phrase`

/** Columns of the history, which contains configurations that were sent. */
const sentColumns = (sql: Sql): Fragment => sql`
  tenant_id, endpoint_id, version_name, name, config_id, application_name, updated_date, ${statusColumns(sql)}`

/** Values that a statement writes for all its endpoints. */
export interface Written {
  name: string
  configId: string
  at: Date
}

/**
 * Returns a part of a statement. It sets the configuration for the endpoints of the relation `given`, and moves configurations that were
 * sent before to the history; its relation `moved` has the endpoints whose history has grown. The caller has locked the endpoints or the
 * tenant, so no other writer inserts the same rows. `inserted` therefore needs no `on conflict`, with which it would take a third longer.
 */
const writingOwn = (sql: Sql, tenantId: string, { name, configId, at }: Written): Fragment => sql`
  old as (
    select o.* from given join configuration.endpoint_configs o on o.tenant_id = ${tenantId}
      and o.endpoint_id = given.endpoint_id and o.version_name = given.version_name and o.name = ${name}),
  released as (
    insert into configuration.released_contents (tenant_id, config_id, released_date)
    select distinct tenant_id, config_id, ${at}::timestamptz from old),
  replaced as (
    update configuration.endpoint_configs o set config_id = ${configId}, updated_date = ${at}, dispatched_date = null,
      confirmed_date = null, status_code = null, reason_phrase = null
    from old where o.tenant_id = ${tenantId} and o.endpoint_id = old.endpoint_id and o.version_name = old.version_name
      and o.name = ${name}),
  inserted as (
    insert into configuration.endpoint_configs
      (tenant_id, endpoint_id, version_name, name, application_name, config_id, created_date, updated_date)
    select ${tenantId}, endpoint_id, version_name, ${name}, application_name, ${configId}, ${at}::timestamptz,
      ${at}::timestamptz
    from given where endpoint_id not in (select old.endpoint_id from old) order by endpoint_id),
  moved as (
    insert into configuration.sent_configs (${sentColumns(sql)})
    select ${sentColumns(sql)} from old where dispatched_date is not null or confirmed_date is not null
    on conflict (tenant_id, endpoint_id, version_name, name, config_id) do update set
      dispatched_date = excluded.dispatched_date, confirmed_date = excluded.confirmed_date,
      status_code = excluded.status_code, reason_phrase = excluded.reason_phrase
    returning endpoint_id, version_name)`

/** Sets the configuration for all endpoints of the target, and returns the endpoints whose history has grown. */
export async function writeOwn(sql: Sql, target: Target, written: Written): Promise<string[]> {
  const { tenantId, applicationName, versionName, endpointIds } = target
  const moved = await sql<{ endpointId: string }[]>`
    with given as (
      select unnest(${endpointIds}::text[]) as endpoint_id, ${versionName}::text collate "C" as version_name,
        ${applicationName}::text as application_name),
    ${writingOwn(sql, tenantId, written)}
    select endpoint_id from moved`
  return moved.map(({ endpointId }) => endpointId)
}

export interface WrittenMembers {
  /** Number of endpoints on the page. */
  count: number
  /** The greatest number of an endpoint on the page; null on an empty page. */
  last: number | null
  /** Versions of endpoints on the page that are not in `versionNames`. Nothing is written for these endpoints. */
  otherVersions: string[]
  /** The endpoints whose history has grown. */
  grown: { endpointId: string; versionName: string }[]
}

/** Sets the configuration for endpoints in their current versions. `members` is a relation of the endpoints with their numbers (`seq`). */
export async function writeMembers(
  sql: Sql,
  members: Fragment,
  tenantId: string,
  versionNames: string[],
  written: Written,
): Promise<WrittenMembers> {
  const [row] = await sql<(Omit<WrittenMembers, 'grown'> & { grownIds: string[]; grownVersions: string[] })[]>`
    with page as materialized (select endpoint_id, application_name, version_name, seq from ${members} as m),
    given as (
      select endpoint_id, application_name, version_name from page where version_name = any(${versionNames}::text[])),
    ${writingOwn(sql, tenantId, written)}
    select count(*)::int as count, max(seq) as last,
      array(select distinct version_name from page where version_name <> all(${versionNames}::text[])) as other_versions,
      array(select endpoint_id from moved order by 1) as grown_ids,
      array(select version_name from moved order by endpoint_id) as grown_versions
    from page`
  const { grownIds, grownVersions, ...page } = row!
  return {
    ...page,
    grown: grownIds.map((endpointId, index) => ({ endpointId, versionName: grownVersions[index]! })),
  }
}

/** Deletes the configuration of the endpoint. Returns its id, or undefined if the endpoint had no configuration. */
export async function deleteOwn(sql: Sql, key: ConfigurationKey, at: Date): Promise<string | undefined> {
  const [row] = await sql<{ configId: string }[]>`
    with old as (delete from configuration.endpoint_configs where ${isOwn(sql, key)} returning *),
    released as (
      insert into configuration.released_contents (tenant_id, config_id, released_date)
      select tenant_id, config_id, ${at}::timestamptz from old),
    moved as (
      insert into configuration.sent_configs (${sentColumns(sql)})
      select ${sentColumns(sql)} from old where dispatched_date is not null or confirmed_date is not null
      on conflict (tenant_id, endpoint_id, version_name, name, config_id) do nothing)
    select config_id from old`
  return row?.configId
}

export async function writeDefault(
  sql: Sql,
  key: DefaultKey & { applicationName: string },
  { configId, at }: { configId: string; at: Date },
) {
  const { tenantId, versionName, name, applicationName } = key
  await sql`
    with released as (
      insert into configuration.released_contents (tenant_id, config_id, released_date)
      select tenant_id, config_id, ${at}::timestamptz from configuration.defaults where ${isDefault(sql, key)})
    insert into configuration.defaults
      (tenant_id, version_name, name, application_name, config_id, created_date, updated_date)
    values (${tenantId}, ${versionName}, ${name}, ${applicationName}, ${configId}, ${at}, ${at})
    on conflict (tenant_id, version_name, name) do update set config_id = excluded.config_id,
      updated_date = excluded.updated_date`
}

export async function deleteDefault(sql: Sql, key: DefaultKey, at: Date) {
  await sql`
    with old as (delete from configuration.defaults where ${isDefault(sql, key)} returning *)
    insert into configuration.released_contents (tenant_id, config_id, released_date)
    select tenant_id, config_id, ${at}::timestamptz from old`
}
