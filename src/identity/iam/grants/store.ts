import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { SubjectType } from './schemas.ts'

export interface GrantRow {
  id: string
  subjectType: SubjectType
  subjectId: string
  resource: string
  scopes: string[]
  createdAt: Date
}

export interface GrantFilter {
  tenantId: string
  subjectType: string | null
  subjectId: string | null
  resource: string | null
}

const matching = (sql: Sql, { tenantId, subjectType, subjectId, resource }: GrantFilter) => sql`
  from identity.grants where tenant_id = ${tenantId}
    and (${subjectType}::text is null or subject_type = ${subjectType})
    and (${subjectId}::text is null or subject_id = ${subjectId})
    and (${resource}::text is null or resource = ${resource})`

export async function countGrants(sql: Sql, filter: GrantFilter): Promise<number> {
  const [counted] = await sql`select count(*)::integer as count ${matching(sql, filter)}`
  return counted?.count ?? 0
}

export const findGrants = async (sql: Sql, filter: GrantFilter, { offset, limit }: Window): Promise<GrantRow[]> =>
  await sql<GrantRow[]>`
    select id, subject_type, subject_id, resource, scopes, created_at ${matching(sql, filter)}
    order by created_at, id offset ${offset} limit ${limit}`

export async function findGrantIds(sql: Sql, filter: GrantFilter, { offset, limit }: Window): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id ${matching(sql, filter)} order by created_at, id offset ${offset} limit ${limit}`
  return rows.map(({ id }) => id)
}

/** Returns the grants with these ids, in the order of the list `ids`. */
export const findGrantsById = async (sql: Sql, tenantId: string, ids: string[]): Promise<GrantRow[]> =>
  await sql<GrantRow[]>`
    select g.id, g.subject_type, g.subject_id, g.resource, g.scopes, g.created_at
    from unnest(${ids}::text[]) with ordinality as given(id, position)
    join identity.grants g on g.tenant_id = ${tenantId} and g.id = given.id order by given.position`

export async function insertGrant(sql: Sql, tenantId: string, grant: GrantRow) {
  await sql`insert into identity.grants ${sql({ tenantId, ...grant })}`
}

/** Counts the scopes of all grants that were given to a subject, or to all roles of the tenant. Grants of creators do not count. */
export async function countGivenScopes(sql: Sql, tenantId: string, type: SubjectType, id: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(cardinality(scopes)), 0)::integer as count from identity.grants
    where tenant_id = ${tenantId} and subject_type = ${type} and not by_creation
      ${type === 'role' ? sql`` : sql`and subject_id = ${id}`}`
  return row!.count
}

export async function deleteGrant(sql: Sql, tenantId: string, id: string): Promise<GrantRow | undefined> {
  const [row] = await sql<GrantRow[]>`
    delete from identity.grants where tenant_id = ${tenantId} and id = ${id}
    returning id, subject_type, subject_id, resource, scopes, created_at`
  return row
}

/**
 * Locks the subject until the transaction ends. Returns false if the subject does not exist. A user of an external issuer (`<id of the
 * issuer>:<sub>`) exists if its issuer exists.
 */
export async function subjectExists(sql: Sql, tenantId: string, type: SubjectType, id: string): Promise<boolean> {
  const issuerId = id.includes(':') ? id.slice(0, id.indexOf(':')) : null
  const queries = {
    user: () => sql`select from identity.users where tenant_id = ${tenantId} and id = ${id} for key share`,
    role: () => sql`select from identity.roles where tenant_id = ${tenantId} and name = ${id} for key share`,
    client: () => sql`select from identity.clients where tenant_id = ${tenantId} and id = ${id} for key share`,
    'api-key': () => sql`select from identity.api_keys where tenant_id = ${tenantId} and id = ${id} for key share`,
  }[type]
  if ((await queries()).count > 0) return true
  if (type !== 'user' || issuerId === null) return false
  const rows = await sql`select from identity.issuers where tenant_id = ${tenantId} and id = ${issuerId} for key share`
  return rows.count > 0
}
