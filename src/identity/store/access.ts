/** SQL of permissions, API keys, issuers and grants of creators. */
import type { Sql } from '../../kernel/db.ts'
import type { RealmStatus } from '../contract.ts'

export interface RoleRow {
  name: string
  scopes: string[]
  platformScopes: string[]
}

export interface SubjectRow {
  username: string | null
  email: string | null
  roles: RoleRow[]
  grants: [resource: string, scopes: string[]][]
}

export type SubjectKey =
  | { tenantId: string; type: 'user' | 'client'; id: string; external?: undefined }
  /** A user of an external issuer, with roles and names from its token. */
  | { tenantId: string; type: 'user'; id: string; external: ExternalUser }

export interface ExternalUser {
  roles: string[]
  username: string | undefined
  email: string | undefined
}

/** Roles with every scope of the tenant. Grants that their members got by creating resources are not loaded; there may be a million. */
const administrators = ['tenant-admin', 'service', 'platform-admin']

const baseOf = (sql: Sql, { tenantId, type, id, external }: SubjectKey, includesDisabled: boolean) => {
  if (external)
    return sql`select ${external.username ?? null}::text as username, ${external.email ?? null}::text as email,
      ${external.roles}::text[] as roles`
  if (type === 'client')
    return sql`select null::text as username, null::text as email, roles from identity.clients
      where tenant_id = ${tenantId} and id = ${id}`
  return sql`select username, email, roles from identity.users
    where tenant_id = ${tenantId} and id = ${id} and (enabled or ${includesDisabled})`
}

/**
 * Finds a subject's roles and grants in one snapshot. Returns undefined if the subject is unknown or disabled, or its realm is not
 * available.
 */
export async function findSubject(
  sql: Sql,
  key: SubjectKey,
  { includesDisabled = false } = {},
): Promise<SubjectRow | undefined> {
  const { tenantId, type, id } = key
  const [row] = await sql`
    with subject as (${baseOf(sql, key, includesDisabled)})
    select s.username, s.email,
      coalesce((select jsonb_agg(jsonb_build_object('name', r.name, 'scopes', r.scopes, 'platformScopes', r.platform_scopes)
          order by r.name)
        from identity.roles r where r.tenant_id = ${tenantId} and r.name = any(s.roles)), '[]') as roles,
      coalesce((select jsonb_agg(jsonb_build_array(g.resource, g.scopes))
        from identity.grants g where g.tenant_id = ${tenantId}
          and ((g.subject_type = ${type} and g.subject_id = ${id})
            or (g.subject_type = 'role' and g.subject_id = any(s.roles)))
          and not (g.by_creation and s.roles && ${administrators}::text[])), '[]') as grants
    from subject s join identity.realms m on m.tenant_id = ${tenantId} and m.status = 'AVAILABLE'`
  return row as SubjectRow | undefined
}

export interface BackendRow {
  tenantId: string
  clientId: string
  status: RealmStatus
  roles: RoleRow[]
  grants: [resource: string, scopes: string[]][]
}

/** Finds the backend clients of these tenants with their roles and grants, in any status of the realm. */
export const findBackends = (sql: Sql, tenantIds: readonly string[]) =>
  sql<BackendRow[]>`
    select c.tenant_id, c.id as client_id, m.status,
      coalesce((select jsonb_agg(jsonb_build_object('name', r.name, 'scopes', r.scopes, 'platformScopes', r.platform_scopes))
        from identity.roles r where r.tenant_id = c.tenant_id and r.name = any(c.roles)), '[]') as roles,
      coalesce((select jsonb_agg(jsonb_build_array(g.resource, g.scopes))
        from identity.grants g where g.tenant_id = c.tenant_id
          and ((g.subject_type = 'client' and g.subject_id = c.id)
            or (g.subject_type = 'role' and g.subject_id = any(c.roles)))
          and not (g.by_creation and c.roles && ${administrators}::text[])), '[]') as grants
    from identity.realms m join identity.clients c on c.tenant_id = m.tenant_id and c.id = m.backend_client_id
    where m.tenant_id = any(${[...tenantIds]})`

/** Finds these roles and the grants to them. Locks the roles until the transaction ends, to exclude their deletion. */
export async function findRoleRights(
  sql: Sql,
  tenantId: string,
  names: string[],
): Promise<{ roles: RoleRow[]; grants: [resource: string, scopes: string[]][] }> {
  const roles = await sql<RoleRow[]>`
    select name, scopes, platform_scopes from identity.roles where tenant_id = ${tenantId} and name = any(${names})
    order by name for key share`
  const grants = await sql`
    select resource, scopes from identity.grants
    where tenant_id = ${tenantId} and subject_type = 'role' and subject_id = any(${names})`
  return { roles, grants: grants.map((row) => [row.resource, row.scopes]) }
}

export interface KeyRow {
  tenantId: string
  id: string
  name: string
  ownerType: 'user' | 'client'
  ownerId: string
  scopes: string[] | null
  expiresAt: Date | null
  lastUsedAt: Date | null
  grants: [resource: string, scopes: string[]][]
}

const selectKey = (sql: Sql) => sql`
  select k.tenant_id, k.id, k.name, k.owner_type, k.owner_id, k.scopes, k.expires_at, k.last_used_at,
    coalesce((select jsonb_agg(jsonb_build_array(g.resource, g.scopes)) from identity.grants g
      where g.tenant_id = k.tenant_id and g.subject_type = 'api-key' and g.subject_id = k.id), '[]') as grants
  from identity.api_keys k`

export async function findKey(sql: Sql, hash: Buffer): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`${selectKey(sql)} where k.hash = ${hash}`
  return row
}

export async function findKeyById(sql: Sql, tenantId: string, id: string): Promise<KeyRow | undefined> {
  const [row] = await sql<KeyRow[]>`${selectKey(sql)} where k.tenant_id = ${tenantId} and k.id = ${id}`
  return row
}

/** Writes the last use, unless another node has written it within the last minute. */
export async function touchKey(sql: Sql, tenantId: string, id: string, at: Date) {
  const minuteBefore = new Date(at.getTime() - 60_000)
  await sql`
    update identity.api_keys set last_used_at = ${at}
    where tenant_id = ${tenantId} and id = ${id} and (last_used_at is null or last_used_at <= ${minuteBefore})`
}

export interface IssuerRow {
  tenantId: string
  id: string
  issuer: string
  audience: string | null
  rolesClaim: string | null
}

/** Finds the registrations of an issuer by all tenants, the oldest first. */
export const findIssuers = (sql: Sql, issuer: string) =>
  sql<IssuerRow[]>`
    select tenant_id, id, issuer, audience, roles_claim from identity.issuers where issuer = ${issuer}
    order by created_at, tenant_id`

/** Grants `*` to the creator. If an API key created the resource, grants it to the owner of the key. Returns that subject. */
export async function insertCreatorGrant(
  sql: Sql,
  grant: {
    tenantId: string
    id: string
    subjectType: 'user' | 'client' | 'api-key'
    subjectId: string
    resource: string
  },
): Promise<{ type: 'user' | 'client'; id: string } | undefined> {
  const { tenantId, id, subjectType, subjectId, resource } = grant
  const owner =
    subjectType === 'api-key'
      ? sql`select owner_type, owner_id from identity.api_keys where tenant_id = ${tenantId} and id = ${subjectId}`
      : sql`select ${subjectType}::text as owner_type, ${subjectId}::text as owner_id`
  const [row] = await sql`
    insert into identity.grants (tenant_id, id, subject_type, subject_id, resource, scopes, by_creation)
    select ${tenantId}, ${id}, o.owner_type, o.owner_id, ${resource}, array['*'], true from (${owner}) o
    returning subject_type, subject_id`
  return row && { type: row.subjectType, id: row.subjectId }
}

export const deleteGrantsOn = (sql: Sql, tenantId: string, resource: string) =>
  sql<{ subjectType: 'user' | 'role' | 'client' | 'api-key'; subjectId: string }[]>`
    delete from identity.grants where tenant_id = ${tenantId} and resource = ${resource}
    returning subject_type, subject_id`
