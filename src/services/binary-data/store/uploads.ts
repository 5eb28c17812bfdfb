/** Stores upload tokens, running uploads and orphans. */
import type { Sql } from '../../../kernel/db.ts'
import type { Unregistered } from './items.ts'

export interface TokenRow {
  tokenHash: string
  endpointId: string
  tenantId: string
  applicationName: string
  issuedAt: Date
  expiresAt: Date
}

/** Inserts a token. Returns false if the endpoint already has `limit` valid tokens. */
export async function insertToken(sql: Sql, token: TokenRow, limit: number): Promise<boolean> {
  const { tokenHash, endpointId, tenantId, applicationName, issuedAt, expiresAt } = token
  const { count } = await sql`
    insert into binary_data.upload_tokens (token_hash, endpoint_id, tenant_id, application_name, issued_at, expires_at)
    select ${tokenHash}, ${endpointId}, ${tenantId}, ${applicationName}, ${issuedAt}, ${expiresAt}
    where (select count(*) from binary_data.upload_tokens
      where endpoint_id = ${endpointId} and expires_at > ${issuedAt}) < ${limit}`
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
 * Records an upload. Returns false if the token was deleted. The deletion of an endpoint deletes its tokens and then rejects its recorded
 * uploads: it waits for this statement's lock on the token and then finds the upload, or this statement finds no token.
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

/** Ends an upload. Returns false if its endpoint was deleted or the upload was given up. */
export async function endUpload(sql: Sql, contentKey: string): Promise<boolean> {
  const { count } = await sql`delete from binary_data.uploads where content_key = ${contentKey} and not refused`
  return count === 1
}

/** Deletes a failed upload. Returns false if it was already given up; its content is then already recorded as an orphan. */
export async function dropUpload(sql: Sql, contentKey: string): Promise<boolean> {
  const { count } = await sql`delete from binary_data.uploads where content_key = ${contentKey}`
  return count === 1
}

/**
 * Deletes the tokens of unregistered endpoints (first, see `beginUpload`), then marks their running uploads as rejected. Such an upload
 * fails at its end and removes its content. `until` protects an endpoint that was registered again with the same id.
 */
export async function rejectUploadsOfEndpoints(sql: Sql, { endpointIds, until, registered }: Unregistered) {
  const again = sql`(select endpoint_id from (${registered(sql)}) as e where endpoint_id = any(${endpointIds}::text[]))`
  await sql`
    delete from binary_data.upload_tokens
    where endpoint_id = any(${endpointIds}::text[]) and (issued_at <= ${until} or endpoint_id not in ${again})`
  await sql`
    update binary_data.uploads set refused = true
    where endpoint_id = any(${endpointIds}::text[]) and (token_issued_at <= ${until} or endpoint_id not in ${again})`
}

export async function rejectUploadsOfTenant(sql: Sql, tenantId: string) {
  await sql`delete from binary_data.upload_tokens where tenant_id = ${tenantId}`
  await sql`update binary_data.uploads set refused = true where tenant_id = ${tenantId}`
}

/** Deletes uploads that were not touched since `untouchedSince`, usually because their node died. Records their contents as orphans. */
export async function giveUpUploads(sql: Sql, { untouchedSince, at }: { untouchedSince: Date; at: Date }) {
  await sql`
    with deleted as (delete from binary_data.uploads where touched_at < ${untouchedSince} returning content_key)
    insert into binary_data.leavings (content_key, due_at) select content_key, ${at} from deleted on conflict do nothing`
}

// ── orphans

export async function insertOrphans(sql: Sql, contentKeys: string[], at: Date) {
  await sql`
    insert into binary_data.leavings (content_key, due_at)
    select key, ${at} from unnest(${contentKeys}::text[]) key on conflict do nothing`
}

/** Locks some orphans until the transaction ends. Another node gets other orphans. */
export async function lockOrphans(sql: Sql, at: Date, limit: number): Promise<string[]> {
  const rows = await sql<{ contentKey: string }[]>`
    select content_key from binary_data.leavings where due_at <= ${at} order by due_at limit ${limit}
    for update skip locked`
  return rows.map(({ contentKey }) => contentKey)
}

export async function deleteOrphans(sql: Sql, contentKeys: string[]) {
  await sql`delete from binary_data.leavings where content_key = any(${contentKeys}::text[])`
}

export async function postponeOrphans(sql: Sql, contentKeys: string[], until: Date) {
  await sql`update binary_data.leavings set due_at = ${until} where content_key = any(${contentKeys}::text[])`
}

/**
 * Records those keys that no row contains as orphans, and returns their number. It is one statement, because uploads and restores may move
 * or create rows at the same time.
 */
export async function insertOrphansAmong(sql: Sql, contentKeys: string[], at: Date): Promise<number> {
  const { count } = await sql`
    insert into binary_data.leavings (content_key, due_at)
    select key, ${at} from unnest(${contentKeys}::text[]) key
    where not exists (select from binary_data.items where content_key = key)
    and not exists (select from binary_data.service_contents where content_key = key)
    and not exists (select from binary_data.uploads where content_key = key)
    and not exists (select from binary_data.leavings where content_key = key)
    on conflict do nothing`
  return count
}

/** Prevents other nodes from marking a store until the transaction ends. */
export const lockMark = (sql: Sql) => sql`select pg_advisory_xact_lock(hashtext('binary-data.store-mark'))`

export async function findMark(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ mark: string }[]>`select mark from binary_data.store_mark`
  return row?.mark
}

/** Stores the mark, unless a mark is already stored. Returns the stored mark. */
export async function insertMarkIfAbsent(sql: Sql, newMark: string): Promise<string> {
  await sql`insert into binary_data.store_mark (id, mark) values (1, ${newMark}) on conflict (id) do nothing`
  const [row] = await sql`select mark from binary_data.store_mark`
  return row?.mark
}
