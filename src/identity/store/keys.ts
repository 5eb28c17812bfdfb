import type { Sql } from '../../kernel/db.ts'
import type { PublicJwk } from '../types.ts'

export interface NewKey {
  kid: string
  publicJwk: PublicJwk
  privateJwkSealed: string
  createdAt: Date
}

export async function hasSigningKey(sql: Sql, tenantId: string): Promise<boolean> {
  const [row] = await sql`
    select exists (select from identity.signing_keys where tenant_id = ${tenantId} and retired_at is null) as known`
  return row?.known === true
}

export async function insertKey(sql: Sql, tenantId: string, key: NewKey) {
  await sql`
    insert into identity.signing_keys (tenant_id, kid, public_jwk, private_jwk_sealed, created_at)
    values (${tenantId}, ${key.kid}, ${sql.json({ ...key.publicJwk })}, ${key.privateJwkSealed}, ${key.createdAt})`
}

export async function retireKeys(sql: Sql, tenantId: string, at: Date) {
  await sql`update identity.signing_keys set retired_at = ${at} where tenant_id = ${tenantId} and retired_at is null`
}

/** Deletes retired keys whose last access token has expired. Returns the realms that lost a key. */
export async function deleteRetiredKeys(sql: Sql, retiredBefore: Date): Promise<string[]> {
  const rows = await sql`
    delete from identity.signing_keys k using identity.realms r
    where r.tenant_id = k.tenant_id
      and k.retired_at < ${retiredBefore}::timestamptz - make_interval(secs => r.access_token_seconds)
    returning k.tenant_id`
  return [...new Set(rows.map(({ tenantId }) => tenantId as string))]
}
