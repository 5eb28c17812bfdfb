import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { OwnClientSettings } from '../../store/realms.ts'

export interface ClientRow {
  id: string
  kind: 'frontend' | 'backend'
  redirectUris: string[]
  webOrigins: string[]
  own: OwnClientSettings
  roles: string[]
}

export async function findClients(sql: Sql, tenantId: string, { offset, limit }: Window) {
  const [counted] = await sql`select count(*)::integer as count from identity.clients where tenant_id = ${tenantId}`
  const rows = await sql<ClientRow[]>`
    select id, kind, redirect_uris, web_origins, own, roles from identity.clients where tenant_id = ${tenantId}
    order by kind, id offset ${offset} limit ${limit}`
  return { count: (counted?.count ?? 0) as number, rows }
}

export async function findClient(sql: Sql, tenantId: string, id: string): Promise<ClientRow | undefined> {
  const [row] = await sql<ClientRow[]>`
    select id, kind, redirect_uris, web_origins, own, roles from identity.clients
    where tenant_id = ${tenantId} and id = ${id}`
  return row
}

/** Returns a client and locks it until the transaction ends. */
export async function lockClient(sql: Sql, tenantId: string, id: string): Promise<ClientRow | undefined> {
  const [row] = await sql<ClientRow[]>`
    select id, kind, redirect_uris, web_origins, own, roles from identity.clients
    where tenant_id = ${tenantId} and id = ${id} for update`
  return row
}

/** Merges settings into the settings that the tenant has registered. Null removes a setting. Returns false if there is no such client. */
export async function updateOwnSettings(
  sql: Sql,
  tenantId: string,
  id: string,
  own: OwnClientSettings,
): Promise<boolean> {
  const { count } = await sql`
    update identity.clients set own = own || ${sql.json(own as never)} where tenant_id = ${tenantId} and id = ${id}`
  return count === 1
}
