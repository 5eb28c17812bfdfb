import { likePart, type Sql } from '../../kernel/db.ts'
import type { Window } from '../../kernel/paging.ts'
import type { DashboardRow, SummaryRow, TemplateRow, VersionRow, VersionSummaryRow } from './types.ts'

const summary = (sql: Sql) =>
  sql`dashboard_id, tenant_id, name, description, owner_type, owner_id, owner_name, version, created_date, updated_date`

export async function findDashboards(
  sql: Sql,
  { tenantId, visibleIds, search }: { tenantId: string; visibleIds: 'all' | string[]; search: string | undefined },
  { offset, limit }: Window,
) {
  const where = sql`tenant_id = ${tenantId}
    ${visibleIds === 'all' ? sql`` : sql`and dashboard_id = any(${visibleIds})`}
    ${search === undefined ? sql`` : sql`and name ilike ${likePart(search)}`}`
  const [counted] = await sql`select count(*)::integer as count from dashboards.dashboards where ${where}`
  const rows = await sql<SummaryRow[]>`
    select ${summary(sql)} from dashboards.dashboards where ${where}
    order by lower(name), dashboard_id offset ${offset} limit ${limit}`
  return { count: counted!.count as number, rows }
}

export async function findDashboard(sql: Sql, dashboardId: string): Promise<DashboardRow | undefined> {
  const [row] = await sql<DashboardRow[]>`
    select ${summary(sql)}, definition from dashboards.dashboards where dashboard_id = ${dashboardId}`
  return row
}

export async function lockDashboard(sql: Sql, dashboardId: string): Promise<DashboardRow | undefined> {
  const [row] = await sql<DashboardRow[]>`
    select ${summary(sql)}, definition from dashboards.dashboards where dashboard_id = ${dashboardId} for update`
  return row
}

/** Locks the creation of dashboards in a tenant until the transaction ends, and counts its dashboards. */
export async function lockAndCount(sql: Sql, tenantId: string): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`dashboards ${tenantId}`}, 0))`
  const [row] = await sql`select count(*)::integer as count from dashboards.dashboards where tenant_id = ${tenantId}`
  return row!.count
}

export async function insertDashboard(sql: Sql, row: DashboardRow) {
  await sql`insert into dashboards.dashboards ${sql({ ...row })}`
}

export async function updateDashboard(
  sql: Sql,
  dashboardId: string,
  change: Pick<DashboardRow, 'name' | 'description' | 'definition' | 'version' | 'updatedDate'>,
) {
  await sql`update dashboards.dashboards set ${sql({ ...change })} where dashboard_id = ${dashboardId}`
}

export async function deleteDashboard(sql: Sql, dashboardId: string) {
  await sql`delete from dashboards.dashboards where dashboard_id = ${dashboardId}`
}

// ── versions

const versionSummary = (sql: Sql) => sql`version, name, description, author_type, author_id, author_name, created_date`

/** Inserts a version and deletes versions that are too old. */
export async function insertVersion(sql: Sql, dashboardId: string, row: VersionRow, keep: number) {
  await sql`insert into dashboards.versions ${sql({ dashboardId, ...row })}`
  await sql`delete from dashboards.versions where dashboard_id = ${dashboardId} and version <= ${row.version - keep}`
}

export const findVersions = (sql: Sql, dashboardId: string) =>
  sql<VersionSummaryRow[]>`
    select ${versionSummary(sql)} from dashboards.versions where dashboard_id = ${dashboardId}
    order by version desc`

export async function findVersion(sql: Sql, dashboardId: string, version: number): Promise<VersionRow | undefined> {
  const [row] = await sql<VersionRow[]>`
    select ${versionSummary(sql)}, definition from dashboards.versions
    where dashboard_id = ${dashboardId} and version = ${version}`
  return row
}

// ── templates

const templateColumns = (sql: Sql) =>
  sql`app_version_name, tenant_id, application_name, name, description, definition, updated_date`

export async function findTemplate(sql: Sql, appVersionName: string): Promise<TemplateRow | undefined> {
  const [row] = await sql<TemplateRow[]>`
    select ${templateColumns(sql)} from dashboards.templates where app_version_name = ${appVersionName}`
  return row
}

/** Locks a template, so that its changes run one after the other. This works even if the template does not exist yet. */
export async function lockTemplate(sql: Sql, appVersionName: string): Promise<TemplateRow | undefined> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`dashboard template ${appVersionName}`}, 0))`
  return await findTemplate(sql, appVersionName)
}

export async function upsertTemplate(sql: Sql, row: TemplateRow) {
  await sql`
    insert into dashboards.templates ${sql({ ...row })}
    on conflict (app_version_name) do update set tenant_id = excluded.tenant_id,
      application_name = excluded.application_name, name = excluded.name, description = excluded.description,
      definition = excluded.definition, updated_date = excluded.updated_date`
}

export async function deleteTemplate(sql: Sql, tenantId: string, appVersionName: string) {
  await sql`delete from dashboards.templates where tenant_id = ${tenantId} and app_version_name = ${appVersionName}`
}

/** Deletes all data of a tenant. The rows are not deleted in batches, because a tenant has at most some thousand dashboards. */
export async function deleteTenant(sql: Sql, tenantId: string) {
  await sql`delete from dashboards.dashboards where tenant_id = ${tenantId}`
  await sql`delete from dashboards.templates where tenant_id = ${tenantId}`
}
