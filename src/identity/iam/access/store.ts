/** SQL that explains permissions: the subjects that have a scope on a resource, and the roles and grants that give it. */
import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import { everyScope } from '../../../kernel/permissions.ts'
import type { RoleRow } from '../../store/access.ts'

export interface GrantOnPath {
  id: string
  subjectType: 'user' | 'role' | 'client' | 'api-key'
  subjectId: string
  resource: string
  scopes: string[]
  byCreation: boolean
}

export interface HolderRow {
  type: 'user' | 'client' | 'api-key'
  id: string
  name: string
  roles: string[]
  ownerType: 'user' | 'client' | null
  ownerId: string | null
}

export interface Question {
  tenantId: string
  /** The canonical name of the scope. */
  scope: string
  /** Resources whose permissions apply: the resource itself and all resources that contain it. */
  path: string[]
  /** True if the answer includes scopes that a role gives on the tenant. */
  onTenant: boolean
  /** True if the answer includes scopes that a role gives on the platform. */
  onPlatform: boolean
  now: Date
}

/**
 * Returns common table expressions: `holders` contains users and clients with the scope, `keys` their API keys. `every` marks holders of
 * `*`, because a key with the scope `*` has permissions only if its owner holds `*`.
 */
const holdersOf = (sql: Sql, { tenantId, scope, path, onTenant, onPlatform, now }: Question) => {
  const sufficientScopes = [scope, everyScope]
  return sql`
    with granted as (
      select subject_type, subject_id, bool_or(${everyScope} = any(scopes)) as every from identity.grants
      where tenant_id = ${tenantId} and resource = any(${path}) and scopes && ${sufficientScopes}::text[]
      group by subject_type, subject_id),
    held_roles as (
      select name, (${onTenant} and ${everyScope} = any(scopes))
        or (${onPlatform} and (${everyScope} = any(platform_scopes) or name = 'platform-admin')) as every
      from identity.roles where tenant_id = ${tenantId} and ((${onTenant} and scopes && ${sufficientScopes}::text[])
        or (${onPlatform} and (platform_scopes && ${sufficientScopes}::text[] or name = 'platform-admin')))
      union all select subject_id, every from granted where subject_type = 'role'),
    holders as (
      select 'user' as type, id, username as name, roles from identity.users
      where tenant_id = ${tenantId} and enabled and (roles && array(select name from held_roles)
        or id in (select subject_id from granted where subject_type = 'user'))
      union all
      select 'user', subject_id, subject_id, '{}' from granted where subject_type = 'user' and position(':' in subject_id) > 0
      union all
      select 'client', id, id, roles from identity.clients
      where tenant_id = ${tenantId} and (roles && array(select name from held_roles)
        or id in (select subject_id from granted where subject_type = 'client'))),
    marked as (
      select h.*, h.roles && array(select name from held_roles where every)
        or exists (select from granted g where g.subject_type = h.type and g.subject_id = h.id and g.every) as every
      from holders h),
    keys as (
      select 'api-key' as type, k.id, k.name, m.roles, k.owner_type, k.owner_id
      from identity.api_keys k join marked m on m.type = k.owner_type and m.id = k.owner_id
      where k.tenant_id = ${tenantId} and (k.expires_at is null or k.expires_at > ${now})
        and (k.scopes is null or ${scope} = any(k.scopes) or (${everyScope} = any(k.scopes) and m.every)
          or k.id in (select subject_id from granted where subject_type = 'api-key'))),
    found as (
      select type, id, name, roles, null::text as owner_type, null::text as owner_id from marked
      union all select type, id, name, roles, owner_type, owner_id from keys)`
}

/** Finds the holders of a scope: users, then clients, then API keys, each ordered by name. */
export async function findHolders(sql: Sql, question: Question, { offset, limit }: Window) {
  const [counted] = await sql`${holdersOf(sql, question)} select count(*)::integer as count from found`
  const rows = await sql<HolderRow[]>`
    ${holdersOf(sql, question)}
    select type, id, name, roles, owner_type, owner_id from found
    order by array_position(array['user', 'client', 'api-key'], type), lower(name), id offset ${offset} limit ${limit}`
  return { count: (counted?.count ?? 0) as number, rows }
}

export const findRoles = (sql: Sql, tenantId: string, names: string[]) =>
  sql<RoleRow[]>`
    select name, scopes, platform_scopes from identity.roles where tenant_id = ${tenantId} and name = any(${names})
    order by name`

/** Finds the grants on these resources to these subjects and roles. */
export const findGrantsOnPath = (
  sql: Sql,
  tenantId: string,
  path: string[],
  { subjects, roles }: { subjects: string[]; roles: string[] },
) =>
  sql<GrantOnPath[]>`
    select id, subject_type, subject_id, resource, scopes, by_creation from identity.grants
    where tenant_id = ${tenantId} and resource = any(${path})
      and ((subject_type <> 'role' and subject_id = any(${subjects})) or (subject_type = 'role' and subject_id = any(${roles})))
    order by created_at, id`
