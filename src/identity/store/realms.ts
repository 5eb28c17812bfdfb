import type { Sql } from '../../kernel/db.ts'
import type { RealmStatus } from '../contract.ts'
import type { Client, Realm, SigningKey } from '../types.ts'

/** Finds a realm with its clients and keys. One statement reads everything, so that realm, clients and keys belong to the same revision. */
export async function findRealm(sql: Sql, tenantId: string): Promise<Realm | undefined> {
  const [row] = await sql`
    select r.tenant_id, r.display_name, r.login_theme, r.status, r.access_token_seconds, r.refresh_token_seconds,
      r.frontend_client_id, r.backend_client_id, r.cookie_key_sealed, r.revision, r.second_factor,
      (select coalesce(jsonb_agg(to_jsonb(c)), '[]') from identity.clients c where c.tenant_id = r.tenant_id) as clients,
      (select coalesce(jsonb_agg(to_jsonb(k) order by k.retired_at is not null, k.created_at desc, k.kid), '[]')
        from identity.signing_keys k where k.tenant_id = r.tenant_id) as keys
    from identity.realms r where r.tenant_id = ${tenantId}`
  if (!row) return undefined
  return {
    tenantId: row.tenantId,
    displayName: row.displayName ?? undefined,
    loginTheme: row.loginTheme ?? undefined,
    status: row.status as RealmStatus,
    accessTokenSeconds: row.accessTokenSeconds,
    refreshTokenSeconds: row.refreshTokenSeconds,
    secondFactor: row.secondFactor,
    frontendClientId: row.frontendClientId,
    backendClientId: row.backendClientId,
    cookieKeySealed: row.cookieKeySealed,
    revision: row.revision,
    clients: (row.clients as ClientRow[]).map(clientOf),
    keys: (row.keys as KeyRow[]).map(keyOf),
  }
}

// Columns inside jsonb keep their SQL names.
interface ClientRow {
  id: string
  kind: 'frontend' | 'backend'
  redirect_uris: string[]
  web_origins: string[]
  own: OwnClientSettings
  roles: string[]
  secret_sealed: string | null
  old_secrets: { sealed: string; until: string }[]
}
interface KeyRow {
  kid: string
  public_jwk: SigningKey['publicJwk']
  private_jwk_sealed: string
  created_at: string
  retired_at: string | null
}

/** Settings that a tenant has registered for a client, in addition to the template of its realm. */
export interface OwnClientSettings {
  redirectUris?: string[]
  webOrigins?: string[]
  pkceRequired?: boolean
}

export const effectiveSettings = (client: {
  redirectUris: string[]
  webOrigins: string[]
  own: OwnClientSettings
}) => ({
  redirectUris: [...new Set([...client.redirectUris, ...(client.own.redirectUris ?? [])])],
  webOrigins: [...new Set([...client.webOrigins, ...(client.own.webOrigins ?? [])])],
  pkceRequired: client.own.pkceRequired ?? true,
})

const clientOf = (row: ClientRow): Client => ({
  id: row.id,
  kind: row.kind,
  ...effectiveSettings({ redirectUris: row.redirect_uris, webOrigins: row.web_origins, own: row.own }),
  roles: row.roles,
  secretSealed: row.secret_sealed ?? undefined,
  oldSecrets: row.old_secrets.map(({ sealed, until }) => ({ sealed, until: new Date(until) })),
})
const keyOf = (row: KeyRow): SigningKey => ({
  kid: row.kid,
  publicJwk: row.public_jwk,
  privateJwkSealed: row.private_jwk_sealed,
  createdAt: new Date(row.created_at),
  retiredAt: row.retired_at ? new Date(row.retired_at) : undefined,
})

export interface RealmSummary {
  tenantId: string
  status: RealmStatus
  frontendClientId: string
  backendClientId: string
  secretSealed: string
}

export const findRealmSummaries = (sql: Sql, tenantIds: string[]): Promise<RealmSummary[]> =>
  sql<RealmSummary[]>`
    select r.tenant_id, r.status, r.frontend_client_id, r.backend_client_id, c.secret_sealed
    from identity.realms r
    join identity.clients c on c.tenant_id = r.tenant_id and c.id = r.backend_client_id
    where r.tenant_id = any(${tenantIds})`

export interface NewRealm {
  tenantId: string
  status: RealmStatus
  frontendClientId: string
  backendClientId: string
  cookieKeySealed: string
}

/** Inserts a realm. Returns false if it already exists. */
export async function insertRealm(sql: Sql, realm: NewRealm): Promise<boolean> {
  const { count } = await sql`insert into identity.realms ${sql({ ...realm })} on conflict (tenant_id) do nothing`
  return count === 1
}

export async function updateRealm(
  sql: Sql,
  realm: {
    tenantId: string
    displayName: string | null
    loginTheme: string | null
    accessTokenSeconds: number
    refreshTokenSeconds: number
    frontendClientId: string
    backendClientId: string
  },
) {
  const { tenantId, ...fields } = realm
  await sql`update identity.realms set ${sql(fields)} where tenant_id = ${tenantId}`
}

/**
 * Locks the row of the realm to exclude concurrent changes. Returns the status, or undefined if the realm does not exist. To avoid
 * deadlocks, this lock must be taken before locks on users and clients.
 */
export async function lockRealm(sql: Sql, tenantId: string): Promise<RealmStatus | undefined> {
  const [row] = await sql`select status from identity.realms where tenant_id = ${tenantId} for no key update`
  return row?.status
}

export async function updateStatus(sql: Sql, tenantId: string, status: RealmStatus) {
  await sql`update identity.realms set status = ${status} where tenant_id = ${tenantId}`
}

export async function bumpRevision(sql: Sql, tenantId: string) {
  await sql`update identity.realms set revision = revision + 1 where tenant_id = ${tenantId}`
}

/** Deletes a realm. Foreign keys delete everything in it. */
export async function deleteRealm(sql: Sql, tenantId: string) {
  await sql`delete from identity.realms where tenant_id = ${tenantId}`
}

/** Inserts or updates a client. The client keeps its secret even if its id changes. */
export async function upsertClient(
  sql: Sql,
  tenantId: string,
  client: {
    id: string
    kind: 'frontend' | 'backend'
    redirectUris: string[]
    webOrigins: string[]
    roles: string[]
    secretSealed: string | null
  },
) {
  await sql`
    update identity.clients set id = ${client.id}
    where tenant_id = ${tenantId} and kind = ${client.kind} and id <> ${client.id}`
  await sql`
    insert into identity.clients (tenant_id, id, kind, redirect_uris, web_origins, roles, secret_sealed)
    values (${tenantId}, ${client.id}, ${client.kind}, ${client.redirectUris}, ${client.webOrigins}, ${client.roles},
      ${client.secretSealed})
    on conflict (tenant_id, id) do update set kind = excluded.kind, redirect_uris = excluded.redirect_uris,
      web_origins = excluded.web_origins, roles = excluded.roles,
      secret_sealed = coalesce(identity.clients.secret_sealed, excluded.secret_sealed)`
}

// Each old secret makes the check of a wrong secret slower.
const oldSecretsMax = 20

/**
 * Replaces the secret. The old secret stays valid until `oldUntil`. Expired old secrets are removed, and the oldest of too many. Returns
 * false if there is no such backend client.
 */
export async function replaceSecret(
  sql: Sql,
  { tenantId, id, sealed, now, oldUntil }: { tenantId: string; id: string; sealed: string; now: Date; oldUntil: Date },
) {
  const { count } = await sql`
    update identity.clients set secret_sealed = ${sealed},
      old_secrets = (
        select coalesce(jsonb_agg(secret order by place), '[]') from (
          select secret, place from jsonb_array_elements(old_secrets) with ordinality as old (secret, place)
          where (secret->>'until')::timestamptz > ${now} order by place desc limit ${oldSecretsMax - 1}
        ) valid
      ) || jsonb_build_array(jsonb_build_object('sealed', secret_sealed, 'until', ${oldUntil}::timestamptz))
    where tenant_id = ${tenantId} and id = ${id} and kind = 'backend'`
  return count === 1
}

export async function upsertBuiltInRoles(
  sql: Sql,
  tenantId: string,
  roles: { name: string; description: string | null; scopes: string[]; platformScopes: string[] }[],
) {
  for (const role of roles)
    await sql`
      insert into identity.roles ${sql({ tenantId, ...role, builtIn: true })}
      on conflict (tenant_id, name) do update set description = excluded.description, scopes = excluded.scopes,
        platform_scopes = excluded.platform_scopes, built_in = true`
  await sql`
    delete from identity.roles
    where tenant_id = ${tenantId} and built_in and not name = any(${roles.map(({ name }) => name)})`
}

export async function replaceResources(
  sql: Sql,
  tenantId: string,
  resources: { name: string; type: string; displayName: string; scopes: string[] }[],
) {
  for (const resource of resources)
    await sql`
      insert into identity.resources ${sql({ tenantId, ...resource })}
      on conflict (tenant_id, name) do update set type = excluded.type, display_name = excluded.display_name,
        scopes = excluded.scopes`
  await sql`
    delete from identity.resources
    where tenant_id = ${tenantId} and not name = any(${resources.map(({ name }) => name)})`
}

/** Returns the current lifetime of access tokens in seconds. */
export async function findLifetime(sql: Sql, tenantId: string): Promise<number> {
  const [row] = await sql`select access_token_seconds from identity.realms where tenant_id = ${tenantId}`
  return row?.accessTokenSeconds ?? 0
}

/** Returns the origins and redirect addresses of all clients that have origins or redirect addresses. */
export async function findClientOrigins(sql: Sql): Promise<{ webOrigins: string[]; redirectUris: string[] }[]> {
  const rows = await sql<{ webOrigins: string[]; redirectUris: string[]; own: OwnClientSettings }[]>`
    select web_origins, redirect_uris, own from identity.clients
    where web_origins <> '{}' or redirect_uris <> '{}' or own <> '{}'`
  return rows.map(effectiveSettings)
}
