import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export interface ApiKeyRow {
  id: string
  name: string
  ownerType: 'user' | 'client'
  ownerId: string
  scopes: string[] | null
  expiresAt: Date | null
  lastUsedAt: Date | null
  createdAt: Date
}

export async function findApiKeys(sql: Sql, tenantId: string, { offset, limit }: Window) {
  const [counted] = await sql`select count(*)::integer as count from identity.api_keys where tenant_id = ${tenantId}`
  const rows = await sql<ApiKeyRow[]>`
    select id, name, owner_type, owner_id, scopes, expires_at, last_used_at, created_at
    from identity.api_keys where tenant_id = ${tenantId}
    order by created_at, id offset ${offset} limit ${limit}`
  return { count: (counted?.count ?? 0) as number, rows }
}

export async function findApiKey(sql: Sql, tenantId: string, id: string): Promise<ApiKeyRow | undefined> {
  const [row] = await sql<ApiKeyRow[]>`
    select id, name, owner_type, owner_id, scopes, expires_at, last_used_at, created_at
    from identity.api_keys where tenant_id = ${tenantId} and id = ${id}`
  return row
}

/** Inserts a key. Returns false if the owner is not in this realm. */
export async function insertApiKey(sql: Sql, tenantId: string, hash: Buffer, key: ApiKeyRow): Promise<boolean> {
  const owner =
    key.ownerType === 'user'
      ? await sql`select from identity.users where tenant_id = ${tenantId} and id = ${key.ownerId} for key share`
      : await sql`select from identity.clients where tenant_id = ${tenantId} and id = ${key.ownerId} for key share`
  if (owner.count === 0) return false
  await sql`insert into identity.api_keys ${sql({ tenantId, hash, ...key })}`
  return true
}

/** Deletes a key and the grants to it. Returns false if there is no such key. */
export async function deleteApiKey(sql: Sql, tenantId: string, id: string): Promise<boolean> {
  await sql`
    delete from identity.grants where tenant_id = ${tenantId} and subject_type = 'api-key' and subject_id = ${id}`
  const { count } = await sql`delete from identity.api_keys where tenant_id = ${tenantId} and id = ${id}`
  return count === 1
}
