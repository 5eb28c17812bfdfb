/** SQL of pipelines. */
import type { Sql } from '../../../kernel/db.ts'

/** Increases the version of a tenant's pipelines, and locks pipelines and templates against other changes until the transaction ends. */
export async function lockTenant(sql: Sql, tenantId: string) {
  await sql`
    insert into ingest.pipeline_sets (tenant_id, version) values (${tenantId}, 1)
    on conflict (tenant_id) do update set version = ingest.pipeline_sets.version + 1`
}

export async function findPipeline(sql: Sql, tenantId: string, pipelineId: string): Promise<string | undefined> {
  const [row] = await sql<{ definition: string }[]>`
    select definition from ingest.pipelines where tenant_id = ${tenantId} and pipeline_id = ${pipelineId}`
  return row?.definition
}

export interface PipelineRow {
  pipelineId: string
  definition: string
}

export async function findPipelines(sql: Sql, tenantId: string): Promise<PipelineRow[]> {
  return await sql<PipelineRow[]>`
    select pipeline_id, definition from ingest.pipelines where tenant_id = ${tenantId} order by pipeline_id`
}

/** Returns the version and all pipelines of a tenant from one snapshot. */
export async function findPipelineSet(sql: Sql, tenantId: string) {
  const rows = await sql<{ version: number; pipelineId: string | null; definition: string | null }[]>`
    select s.version, p.pipeline_id, p.definition from ingest.pipeline_sets s
    left join ingest.pipelines p on p.tenant_id = s.tenant_id where s.tenant_id = ${tenantId}`
  const pipelines = rows.flatMap(({ pipelineId, definition }) =>
    pipelineId === null ? [] : [[pipelineId, definition!]],
  )
  return { version: rows[0]?.version ?? 0, pipelines: Object.fromEntries(pipelines) as Record<string, string> }
}

/** Returns the number and the total size of the pipelines of a tenant, except the given one. */
export async function countOthers(sql: Sql, tenantId: string, pipelineId: string) {
  const [row] = await sql<{ count: number; bytes: number }[]>`
    select count(*)::int as count, coalesce(sum(octet_length(definition)), 0)::float8 as bytes from ingest.pipelines
    where tenant_id = ${tenantId} and pipeline_id <> ${pipelineId}`
  return row!
}

export async function upsertPipeline(sql: Sql, row: PipelineRow & { tenantId: string; at: Date }) {
  await sql`
    insert into ingest.pipelines (tenant_id, pipeline_id, definition, updated_at)
    values (${row.tenantId}, ${row.pipelineId}, ${row.definition}, ${row.at})
    on conflict (tenant_id, pipeline_id) do update set definition = excluded.definition, updated_at = excluded.updated_at`
}

export async function deletePipeline(sql: Sql, tenantId: string, pipelineId: string): Promise<boolean> {
  const { count } = await sql`
    delete from ingest.pipelines where tenant_id = ${tenantId} and pipeline_id = ${pipelineId}`
  return count === 1
}

/** Deletes all data of a tenant except its documents. Returns the `index_no` of each of its indices. */
export async function deleteTenant(sql: Sql, tenantId: string): Promise<number[]> {
  await sql`delete from ingest.pipelines where tenant_id = ${tenantId}`
  await sql`delete from ingest.pipeline_sets where tenant_id = ${tenantId}`
  await sql`delete from ingest.templates where tenant_id = ${tenantId}`
  await sql`delete from ingest.unregistered where tenant_id = ${tenantId}`
  const rows = await sql<{ indexNo: number }[]>`
    delete from ingest.indices where tenant_id = ${tenantId} returning index_no`
  const indexNos = rows.map(({ indexNo }) => indexNo)
  await sql`delete from ingest.fields where index_no = any(${indexNos}::int[])`
  return indexNos
}
