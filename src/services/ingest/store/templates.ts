/** SQL for templates and for index numbers. */
import type { Sql } from '../../../kernel/db.ts'
import type { Field } from '../documents/fields.ts'

export interface TemplateRow {
  tenantId: string
  applicationName: string
  indexNo: number
  /** JSON text of settings and mappings. */
  template: string
  defaultPipeline: string | null
  retentionDays: number | null
}

export async function findTemplate(
  sql: Sql,
  tenantId: string,
  applicationName: string,
): Promise<TemplateRow | undefined> {
  const [row] = await sql<TemplateRow[]>`
    select tenant_id, application_name, index_no, template, default_pipeline, retention_days from ingest.templates
    where tenant_id = ${tenantId} and application_name = ${applicationName}`
  return row
}

/** Returns the number of an application's index. If the index has no number yet, assigns one. */
export async function ensureIndex(sql: Sql, tenantId: string, applicationName: string): Promise<number> {
  await sql`
    insert into ingest.indices (tenant_id, application_name) values (${tenantId}, ${applicationName}) on conflict do nothing`
  const [row] = await sql<{ indexNo: number }[]>`
    select index_no from ingest.indices where tenant_id = ${tenantId} and application_name = ${applicationName}`
  return row!.indexNo
}

export async function upsertTemplate(sql: Sql, row: TemplateRow & { at: Date }) {
  await sql`
    insert into ingest.templates
      (tenant_id, application_name, index_no, template, default_pipeline, retention_days, updated_at)
    values (${row.tenantId}, ${row.applicationName}, ${row.indexNo}, ${row.template}, ${row.defaultPipeline},
      ${row.retentionDays}, ${row.at})
    on conflict (tenant_id, application_name) do update set index_no = excluded.index_no, template = excluded.template,
      default_pipeline = excluded.default_pipeline, retention_days = excluded.retention_days,
      updated_at = excluded.updated_at`
}

export async function deleteTemplate(sql: Sql, tenantId: string, applicationName: string): Promise<boolean> {
  const { count } = await sql`
    delete from ingest.templates where tenant_id = ${tenantId} and application_name = ${applicationName}`
  return count === 1
}

/** Returns up to ten applications whose template names the pipeline. */
export async function findUsers(sql: Sql, tenantId: string, pipelineId: string): Promise<string[]> {
  const rows = await sql<{ applicationName: string }[]>`
    select application_name from ingest.templates
    where tenant_id = ${tenantId} and default_pipeline = ${pipelineId} order by application_name limit 10`
  return rows.map(({ applicationName }) => applicationName)
}

export interface IndexRow {
  indexNo: number
  applicationName: string
  envelopeChanged: boolean
}

/** Returns the indices of a tenant: all, or only the indices of these applications. */
export async function findIndices(sql: Sql, tenantId: string, names: string[] | 'all'): Promise<IndexRow[]> {
  return await sql<IndexRow[]>`
    select index_no, application_name, envelope_changed from ingest.indices
    where tenant_id = ${tenantId} ${names === 'all' ? sql`` : sql`and application_name = any(${names}::text[])`}
    order by application_name`
}

/** Deletes the template and the number of an application's index. Returns the number. */
export async function deleteApplication(
  sql: Sql,
  tenantId: string,
  applicationName: string,
): Promise<number | undefined> {
  await deleteTemplate(sql, tenantId, applicationName)
  const [row] = await sql<{ indexNo: number }[]>`
    delete from ingest.indices where tenant_id = ${tenantId} and application_name = ${applicationName} returning index_no`
  if (row) await sql`delete from ingest.fields where index_no = ${row.indexNo}`
  return row?.indexNo
}

/** Returns the retention of each index that has its own retention. */
export async function findRetentions(sql: Sql): Promise<{ indexNo: number; retentionDays: number }[]> {
  return await sql<{ indexNo: number; retentionDays: number }[]>`
    select index_no, retention_days from ingest.templates where retention_days is not null`
}

export async function findFields(sql: Sql, indexNos: number[]): Promise<(Field & { indexNo: number })[]> {
  return await sql<(Field & { indexNo: number })[]>`
    select index_no, path, type, listed from ingest.fields where index_no = any(${indexNos}::int[]) order by path, type`
}

export async function insertFields(sql: Sql, indexNo: number, fields: Field[]) {
  await sql`
    insert into ingest.fields (index_no, path, type, listed)
    select ${indexNo}, path, type, listed
    from unnest(${fields.map(({ path }) => path)}::text[], ${fields.map(({ type }) => type)}::text[],
      ${fields.map(({ listed }) => listed)}::bool[]) as given (path, type, listed)
    where exists (select 1 from ingest.indices where index_no = ${indexNo})
    order by path, type, listed
    on conflict do nothing`
}

export interface SearchedIndex extends IndexRow {
  /** The template as JSON text; null without a template. */
  template: string | null
  fields: [path: string, type: Field['type'], listed: boolean][] | null
}

/** Returns with one statement all data of indices that a search needs. */
export async function findSearchedIndices(
  sql: Sql,
  tenantId: string,
  names: string[] | 'all',
): Promise<SearchedIndex[]> {
  return await sql<SearchedIndex[]>`
    select i.index_no, i.application_name, i.envelope_changed, t.template,
      (select json_agg(json_build_array(f.path, f.type, f.listed)) from ingest.fields f where f.index_no = i.index_no) as fields
    from ingest.indices i
    left join ingest.templates t on t.tenant_id = i.tenant_id and t.application_name = i.application_name
    where i.tenant_id = ${tenantId} ${names === 'all' ? sql`` : sql`and i.application_name = any(${names}::text[])`}`
}
