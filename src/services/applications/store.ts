import type { Sql } from '../../kernel/db.ts'
import type { StoredEntry } from './envelope.ts'

export interface ApplicationRow {
  name: string
  tenantId: string
  document: string
}

export interface VersionRow {
  name: string
  displayName: string | null
  description: string | null
  createdDate: Date
  updatedDate: Date
}

export interface Naming {
  displayName?: string
  description?: string
}

// ── applications

/** Inserts an application. Returns false if the name is taken in any tenant. */
export async function insertApplication(sql: Sql, row: Naming & { name: string; tenantId: string; at: Date }) {
  const { count } = await sql`
    insert into applications.applications (name, tenant_id, display_name, description, created_date, updated_date)
    values (${row.name}, ${row.tenantId}, ${row.displayName ?? null}, ${row.description ?? null}, ${row.at}, ${row.at})
    on conflict (name) do nothing`
  return count === 1
}

/** Rewrites an application's JSON document from its rows. Every change of an application or version must call it after its other writes. */
export async function writeDocument(sql: Sql, name: string) {
  await sql`
    update applications.applications a set document = json_strip_nulls(json_build_object(
      'name', a.name,
      'tenantId', a.tenant_id,
      'displayName', a.display_name,
      'description', a.description,
      'createdDate', applications.moment(a.created_date),
      'updatedDate', applications.moment(a.updated_date),
      'versions', coalesce((
        select json_agg(json_build_object(
          'name', v.name,
          'displayName', v.display_name,
          'description', v.description,
          'createdDate', applications.moment(v.created_date),
          'updatedDate', applications.moment(v.updated_date)) order by v.name)
        from applications.versions v where v.application_name = a.name), '[]')
    ))::text
    where a.name = ${name}`
}

export async function findApplication(sql: Sql, name: string): Promise<ApplicationRow | undefined> {
  const [row] = await sql<ApplicationRow[]>`
    select name, tenant_id, document from applications.applications where name = ${name}`
  return row
}

/** Locks an application, so that changes of it, its versions and its configurations run one after the other. */
export async function lockApplication(sql: Sql, name: string): Promise<ApplicationRow | undefined> {
  const [row] = await sql<ApplicationRow[]>`
    select name, tenant_id, document from applications.applications where name = ${name} for update`
  return row
}

const pageRows = 1000
const pageBytes = 1024 * 1024

/** Finds a page of documents ordered by name. A page ends after 1000 rows or 1 MiB. */
export async function findDocuments(
  sql: Sql,
  selection: { tenantId?: string | undefined; names?: string[] | undefined; after?: string | undefined },
): Promise<{ documents: string[]; last: string | undefined; complete: boolean }> {
  const rows = await sql`
    select name, document, before + octet_length(document) as bytes from (
      select name, document, sum(octet_length(document)) over (order by name) - octet_length(document) as before
      from (
        select name, document from applications.applications
        where name > ${selection.after ?? ''}
          ${selection.tenantId === undefined ? sql`` : sql`and tenant_id = ${selection.tenantId}`}
          ${selection.names === undefined ? sql`` : sql`and name = any(${selection.names}::text[])`}
        order by name limit ${pageRows}) page) counted
    where before < ${pageBytes} order by name`
  const last = rows.at(-1)
  return {
    documents: rows.map(({ document }) => document as string),
    last: last?.name,
    complete: rows.length < pageRows && Number(last?.bytes ?? 0) < pageBytes,
  }
}

export async function updateApplication(sql: Sql, name: string, { at, ...change }: Naming & { at: Date }) {
  await sql`update applications.applications set ${sql({ ...change, updatedDate: at } as never)} where name = ${name}`
}

/** Deletes an application with its versions and configurations. */
export async function deleteApplication(sql: Sql, name: string) {
  await sql`delete from applications.applications where name = ${name}`
}

// ── versions

/** Inserts a version. Returns false if the name is taken. */
export async function insertVersion(
  sql: Sql,
  row: Naming & { name: string; applicationName: string; tenantId: string; at: Date },
) {
  const { count } = await sql`
    insert into applications.versions
      (name, application_name, tenant_id, display_name, description, created_date, updated_date)
    values (${row.name}, ${row.applicationName}, ${row.tenantId}, ${row.displayName ?? null},
      ${row.description ?? null}, ${row.at}, ${row.at})
    on conflict (name) do nothing`
  return count === 1
}

export async function findVersions(sql: Sql, applicationName: string): Promise<VersionRow[]> {
  return await sql<VersionRow[]>`
    select name, display_name, description, created_date, updated_date from applications.versions
    where application_name = ${applicationName} order by name`
}

export async function countVersions(sql: Sql, applicationName: string): Promise<number> {
  const [row] = await sql`select count(*) from applications.versions where application_name = ${applicationName}`
  return row?.count
}

export async function findVersion(sql: Sql, applicationName: string, name: string): Promise<VersionRow | undefined> {
  const [row] = await sql<VersionRow[]>`
    select name, display_name, description, created_date, updated_date from applications.versions
    where name = ${name} and application_name = ${applicationName}`
  return row
}

export async function findVersionOwner(sql: Sql, versionName: string) {
  const [row] = await sql<{ tenantId: string; applicationName: string; versionName: string }[]>`
    select tenant_id, application_name, name as version_name from applications.versions where name = ${versionName}`
  return row
}

export async function updateVersion(sql: Sql, name: string, { at, ...change }: Naming & { at: Date }) {
  await sql`update applications.versions set ${sql({ ...change, updatedDate: at } as never)} where name = ${name}`
}

export async function deleteVersion(sql: Sql, name: string) {
  await sql`delete from applications.versions where name = ${name}`
}

// ── configurations

export interface ApplicationOrVersion {
  applicationName: string
  versionName?: string | undefined
}

type Config = Record<string, unknown>

/** Saves a configuration. Returns false if an equal configuration is already stored. */
export async function saveConfiguration(
  sql: Sql,
  row: ApplicationOrVersion & { tenantId: string; instance: string; config: Config },
) {
  const { count } = await sql`
    insert into applications.configurations as known (application_name, version_name, instance, tenant_id, config)
    values (${row.applicationName}, ${row.versionName ?? null}, ${row.instance}, ${row.tenantId},
      ${sql.json(row.config as never)})
    on conflict (application_name, version_name, instance)
      do update set config = excluded.config where known.config is distinct from excluded.config`
  return count === 1
}

/** Finds the configurations of an application or version, for all instances or for the given instances. */
export async function findConfigurations(
  sql: Sql,
  selection: ApplicationOrVersion & { tenantId: string; instances?: string[] | undefined },
): Promise<{ instance: string; config: Config }[]> {
  return await sql<{ instance: string; config: Config }[]>`
    select instance, config from applications.configurations
    where application_name = ${selection.applicationName} and tenant_id = ${selection.tenantId}
      and ${selection.versionName === undefined ? sql`version_name is null` : sql`version_name = ${selection.versionName}`}
      ${selection.instances === undefined ? sql`` : sql`and instance = any(${selection.instances}::text[])`}
    order by instance`
}

/** Finds a page of a tenant's applications, each with the configurations of one instance on all its levels. */
export async function findConfigurationsOf(
  sql: Sql,
  page: { tenantId: string; instance: string; names?: string[] | undefined; after: string; limit: number },
): Promise<{ applicationName: string; configurations: Config[] }[]> {
  return await sql`
    select a.name as application_name, coalesce(
      jsonb_agg(c.config order by c.version_name nulls first) filter (where c.config is not null), '[]') as configurations
    from (
      select name from applications.applications
      where tenant_id = ${page.tenantId} and name > ${page.after}
        ${page.names === undefined ? sql`` : sql`and name = any(${page.names}::text[])`}
      order by name limit ${page.limit}) a
    left join applications.configurations c on c.application_name = a.name and c.instance = ${page.instance}
    group by a.name order by a.name`
}

/** Finds the different pairs of stored configurations that versions of these applications have on their two levels. */
export async function findConfigurationPairs(
  sql: Sql,
  selection: { tenantId: string; instance: string; applicationNames: string[]; versionNames?: string[] | undefined },
): Promise<{ ofApplication: Config | null; ofVersion: Config | null }[]> {
  return await sql<{ ofApplication: Config | null; ofVersion: Config | null }[]>`
    select distinct a.config as of_application, c.config as of_version
    from applications.versions v
      left join applications.configurations a
        on a.application_name = v.application_name and a.version_name is null and a.instance = ${selection.instance}
      left join applications.configurations c
        on c.application_name = v.application_name and c.version_name = v.name and c.instance = ${selection.instance}
    where v.tenant_id = ${selection.tenantId} and v.application_name = any(${selection.applicationNames}::text[])
      ${selection.versionNames === undefined ? sql`` : sql`and v.name = any(${selection.versionNames}::text[])`}`
}

const configurationsPage = 100

/** Finds a page of all configurations, in the order that `writeWholeEnvelope` needs. */
export async function findAllConfigurations(
  sql: Sql,
  selection: { instances?: string[] | undefined; applicationNames?: string[] | undefined },
  after: StoredEntry | undefined,
): Promise<StoredEntry[]> {
  return await sql<StoredEntry[]>`
    select instance, application_name, version_name, config from applications.configurations
    where (instance, application_name, coalesce(version_name, ''))
        > (${after?.instance ?? ''}, ${after?.applicationName ?? ''}, ${after?.versionName ?? ''})
      ${selection.instances === undefined ? sql`` : sql`and instance = any(${selection.instances}::text[])`}
      ${selection.applicationNames === undefined ? sql`` : sql`and application_name = any(${selection.applicationNames}::text[])`}
    order by instance, application_name, coalesce(version_name, '') limit ${configurationsPage}`
}

/** Locks the table until the transaction ends, to exclude other writers. Returns whether the table is empty. */
export async function lockConfigurationsIfEmpty(sql: Sql): Promise<boolean> {
  await sql`lock table applications.configurations in share row exclusive mode`
  const [row] = await sql`select exists (select from applications.configurations) as taken`
  return row?.taken === false
}

/** Holds back other writers of the configurations of the tenant, also of those that do not exist yet, until the transaction ends. */
export const lockTenantConfigurations = (sql: Sql, tenantId: string) =>
  sql`select pg_advisory_xact_lock(hashtextextended(${`tenant configurations ${tenantId}`}, 0))`

export async function saveTenantConfiguration(sql: Sql, row: { tenantId: string; instance: string; config: Config }) {
  const { count } = await sql`
    insert into applications.tenant_configurations as known (tenant_id, instance, config)
    values (${row.tenantId}, ${row.instance}, ${sql.json(row.config as never)})
    on conflict (tenant_id, instance)
      do update set config = excluded.config where known.config is distinct from excluded.config`
  return count === 1
}

export async function findTenantConfigurations(
  sql: Sql,
  selection: { tenantId: string; instances?: string[] | undefined },
): Promise<{ instance: string; config: Config }[]> {
  return await sql<{ instance: string; config: Config }[]>`
    select instance, config from applications.tenant_configurations
    where tenant_id = ${selection.tenantId}
      ${selection.instances === undefined ? sql`` : sql`and instance = any(${selection.instances}::text[])`}
    order by instance`
}

// ── deleted tenants

/** Deletes all data of the tenant. Returns what was deleted, for the events. */
export async function deleteTenant(sql: Sql, tenantId: string) {
  // Applications are locked before their versions, as other writers do, to avoid deadlocks.
  const applications = await sql<{ applicationName: string }[]>`
    select name as application_name from applications.applications where tenant_id = ${tenantId} order by name for update`
  const versions = await sql<{ applicationName: string; versionName: string }[]>`
    select application_name, name as version_name from applications.versions where tenant_id = ${tenantId}`
  await sql`delete from applications.applications where tenant_id = ${tenantId}`
  const instances = await sql<{ instance: string }[]>`
    delete from applications.tenant_configurations where tenant_id = ${tenantId} returning instance`
  return { applications, versions, instances }
}
