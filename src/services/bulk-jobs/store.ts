import type { Sql } from '../../kernel/db.ts'

export interface ExportRow {
  taskId: string
  tenantId: string
  fileName: string
  position: object | null
  size: number
  finishedAt: Date | null
  expiresAt: Date
}

export interface ExportPart {
  part: number
  contentKey: string
  size: number
  checksum: string
}

export async function insertExport(
  sql: Sql,
  row: { taskId: string; tenantId: string; fileName: string; expiresAt: Date },
) {
  await sql`
    insert into bulk_jobs.exports (task_id, tenant_id, file_name, expires_at)
    values (${row.taskId}, ${row.tenantId}, ${row.fileName}, ${row.expiresAt})`
}

export async function findExport(sql: Sql, taskId: string): Promise<ExportRow | undefined> {
  const [row] = await sql<ExportRow[]>`
    select task_id, tenant_id, file_name, position, size, finished_at, expires_at from bulk_jobs.exports
    where task_id = ${taskId}`
  return row
}

/** Adds a part to the file. `finished` contains the times that are stored with the last part. */
export async function insertPart(
  sql: Sql,
  taskId: string,
  { part, contentKey, size, checksum }: ExportPart,
  after: { position: object | null; finished: { at: Date; expiresAt: Date } | undefined },
) {
  const { position, finished } = after
  await sql`
    with added as (
      insert into bulk_jobs.export_parts (task_id, part, content_key, size, checksum)
      values (${taskId}, ${part}, ${contentKey}, ${size}, ${checksum}))
    update bulk_jobs.exports set position = ${position === null ? null : sql.json(position as never)}, size = size + ${size}::bigint,
      finished_at = ${finished?.at ?? null}::timestamptz, expires_at = coalesce(${finished?.expiresAt ?? null}::timestamptz, expires_at)
    where task_id = ${taskId}`
}

export async function findParts(sql: Sql, taskId: string): Promise<ExportPart[]> {
  return await sql<ExportPart[]>`
    select part, content_key, size, checksum from bulk_jobs.export_parts where task_id = ${taskId} order by part`
}

/** Makes a file expire immediately. */
export async function expireExport(sql: Sql, taskId: string, at: Date) {
  await sql`update bulk_jobs.exports set expires_at = ${at} where task_id = ${taskId}`
}

/** Deletes some expired exports. For each of them, returns its tenant and the keys of its contents. */
export async function deleteExpired(sql: Sql, before: Date, limit: number) {
  return await sql<{ tenantId: string; contentKeys: string[] }[]>`
    with expired as (
      delete from bulk_jobs.exports where task_id = any(array(
        select task_id from bulk_jobs.exports where expires_at < ${before} order by expires_at limit ${limit} for update skip locked))
      returning task_id, tenant_id),
    parts as (
      delete from bulk_jobs.export_parts p using expired e where p.task_id = e.task_id returning p.task_id, p.content_key)
    select e.tenant_id, coalesce(array_agg(p.content_key) filter (where p.content_key is not null), '{}') as content_keys
    from expired e left join parts p using (task_id) group by e.task_id, e.tenant_id`
}

/** Deletes the exports of a deleted tenant. Their contents are deleted by the service binary-data. */
export async function deleteOfTenant(sql: Sql, tenantId: string) {
  await sql`
    with gone as (delete from bulk_jobs.exports where tenant_id = ${tenantId} returning task_id)
    delete from bulk_jobs.export_parts p using gone where p.task_id = gone.task_id`
}
