/** Upload tokens, uploads under way, and contents that nobody needs any more. */
import type { Sql } from '../../../kernel/db.ts'

export interface TokenRow {
  tokenHash: string
  endpointId: string
  tenantId: string
  applicationName: string
  issuedAt: Date
  expiresAt: Date
}

/** False when the endpoint has that many already. */
export async function insertToken(sql: Sql, token: TokenRow, most: number): Promise<boolean> {
  const { tokenHash, endpointId, tenantId, applicationName, issuedAt, expiresAt } = token
  const { count } = await sql`
    insert into binary_data.upload_tokens (token_hash, endpoint_id, tenant_id, application_name, issued_at, expires_at)
    select ${tokenHash}, ${endpointId}, ${tenantId}, ${applicationName}, ${issuedAt}, ${expiresAt}
    where (select count(*) from binary_data.upload_tokens
      where endpoint_id = ${endpointId} and expires_at > ${issuedAt}) < ${most}`
  return count === 1
}

export async function findToken(sql: Sql, tokenHash: string): Promise<TokenRow | undefined> {
  const [row] = await sql<TokenRow[]>`
    select token_hash, endpoint_id, tenant_id, application_name, issued_at, expires_at
    from binary_data.upload_tokens where token_hash = ${tokenHash}`
  return row
}

export async function deleteExpiredTokens(sql: Sql, at: Date) {
  await sql`delete from binary_data.upload_tokens where expires_at <= ${at}`
}

/**
 * False when the token has gone. Whoever ends an endpoint deletes its tokens first and then its uploads, so it waits for us
 * at the token, or we find none.
 */
export async function beginUpload(
  sql: Sql,
  { tokenHash, contentKey, at }: { tokenHash: string; contentKey: string; at: Date },
): Promise<boolean> {
  const { count } = await sql`
    with token as (
      select endpoint_id, tenant_id, issued_at from binary_data.upload_tokens where token_hash = ${tokenHash} for share)
    insert into binary_data.uploads (content_key, endpoint_id, tenant_id, token_issued_at, touched_at)
    select ${contentKey}, endpoint_id, tenant_id, issued_at, ${at} from token`
  return count === 1
}

export async function touchUpload(sql: Sql, contentKey: string, at: Date) {
  await sql`update binary_data.uploads set touched_at = ${at} where content_key = ${contentKey}`
}

/** False when it may not become an item any more: its endpoint has gone, or it was taken for dead. */
export async function endUpload(sql: Sql, contentKey: string): Promise<boolean> {
  const { count } = await sql`delete from binary_data.uploads where content_key = ${contentKey} and not refused`
  return count === 1
}

/** False when it was taken for dead: then its content is left already. */
export async function dropUpload(sql: Sql, contentKey: string): Promise<boolean> {
  const { count } = await sql`delete from binary_data.uploads where content_key = ${contentKey}`
  return count === 1
}

/**
 * Tokens first, see beginUpload. Uploads are only refused: whoever still writes removes what it wrote. Until then, because an
 * endpoint may be registered anew under the same id.
 */
export async function refuseUploadsOfEndpoints(sql: Sql, of: { endpointIds: string[]; until: Date }) {
  await sql`
    delete from binary_data.upload_tokens
    where endpoint_id = any(${of.endpointIds}::text[]) and issued_at <= ${of.until}`
  await sql`
    update binary_data.uploads set refused = true
    where endpoint_id = any(${of.endpointIds}::text[]) and token_issued_at <= ${of.until}`
}

export async function refuseUploadsOfTenant(sql: Sql, tenantId: string) {
  await sql`delete from binary_data.upload_tokens where tenant_id = ${tenantId}`
  await sql`update binary_data.uploads set refused = true where tenant_id = ${tenantId}`
}

/** Uploads without a sign of life since then: their process has died. */
export async function giveUpUploads(sql: Sql, { untouchedSince, at }: { untouchedSince: Date; at: Date }) {
  await sql`
    with gone as (delete from binary_data.uploads where touched_at < ${untouchedSince} returning content_key)
    insert into binary_data.leavings (content_key, due_at) select content_key, ${at} from gone on conflict do nothing`
}

// ── what is left over

export async function insertLeavings(sql: Sql, contentKeys: string[], at: Date) {
  await sql`
    insert into binary_data.leavings (content_key, due_at)
    select key, ${at} from unnest(${contentKeys}::text[]) key on conflict do nothing`
}

/** Locked until the transaction ends; another process takes others. */
export async function takeLeavings(sql: Sql, at: Date, limit: number): Promise<string[]> {
  const rows = await sql<{ contentKey: string }[]>`
    select content_key from binary_data.leavings where due_at <= ${at} order by due_at limit ${limit}
    for update skip locked`
  return rows.map(({ contentKey }) => contentKey)
}

export async function deleteLeavings(sql: Sql, contentKeys: string[]) {
  await sql`delete from binary_data.leavings where content_key = any(${contentKeys}::text[])`
}

export async function postponeLeavings(sql: Sql, contentKeys: string[], until: Date) {
  await sql`update binary_data.leavings set due_at = ${until} where content_key = any(${contentKeys}::text[])`
}

/**
 * Notes those of these keys that no row names; how many. One statement: a content moves from table to table in one transaction,
 * and a restore in between may bring back the row that names it.
 */
export async function insertUnknown(sql: Sql, contentKeys: string[], at: Date): Promise<number> {
  const { count } = await sql`
    insert into binary_data.leavings (content_key, due_at)
    select key, ${at} from unnest(${contentKeys}::text[]) key
    where not exists (select from binary_data.items where content_key = key)
    and not exists (select from binary_data.uploads where content_key = key)
    and not exists (select from binary_data.leavings where content_key = key)
    on conflict do nothing`
  return count
}

/** Until the end of the transaction nobody else marks a store. */
export const lockMark = (sql: Sql) => sql`select pg_advisory_xact_lock(hashtext('binary-data.store-mark'))`

export async function findMark(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ mark: string }[]>`select mark from binary_data.store_mark`
  return row?.mark
}

/** The first one stays. */
export async function storeMark(sql: Sql, fresh: string): Promise<string> {
  await sql`insert into binary_data.store_mark (id, mark) values (1, ${fresh}) on conflict (id) do nothing`
  const [row] = await sql`select mark from binary_data.store_mark`
  return row?.mark
}
