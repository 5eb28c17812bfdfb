/** Stores which contents belong to other services. */
import type { Sql } from '../../../kernel/db.ts'
import type { DeletedContent } from './items.ts'

export interface ServiceContent {
  tenantId: string
  contentKey: string
  service: string
  size: number
  checksum: string
}

/** Records an upload of a service. Such an upload has no endpoint and no upload token. */
export async function beginServiceUpload(sql: Sql, upload: { contentKey: string; tenantId: string; at: Date }) {
  await sql`
    insert into binary_data.uploads (content_key, endpoint_id, tenant_id, token_issued_at, touched_at)
    values (${upload.contentKey}, '', ${upload.tenantId}, ${upload.at}, ${upload.at})`
}

export async function insertServiceContent(sql: Sql, content: ServiceContent) {
  await sql`insert into binary_data.service_contents ${sql({ ...content })}`
}

/** Deletes contents and returns the contents that existed. */
export async function deleteServiceContents(
  sql: Sql,
  tenantId: string,
  contentKeys: string[],
): Promise<DeletedContent[]> {
  return await sql<DeletedContent[]>`
    delete from binary_data.service_contents
    where tenant_id = ${tenantId} and content_key = any(${contentKeys}::text[]) returning content_key, size`
}

export async function deleteServiceContentsOfTenant(
  sql: Sql,
  tenantId: string,
  limit: number,
): Promise<DeletedContent[]> {
  return await sql<DeletedContent[]>`
    delete from binary_data.service_contents where tenant_id = ${tenantId} and content_key in (
      select content_key from binary_data.service_contents where tenant_id = ${tenantId} limit ${limit})
    returning content_key, size`
}
