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

export async function findGrants(
  sql: Sql,
  tenantId: string,
  filter: { subjectType: string | null; subjectId: string | null; resource: string | null },
  { offset, limit }: Window,
) {
  const where = sql`
    tenant_id = ${tenantId}
    and (${filter.subjectType}::text is null or subject_type = ${filter.subjectType})
    and (${filter.subjectId}::text is null or subject_id = ${filter.subjectId})
    and (${filter.resource}::text is null or resource = ${filter.resource})`
  const [counted] = await sql`select count(*)::integer as count from identity.grants where ${where}`
  const rows = await sql<GrantRow[]>`
    select id, subject_type, subject_id, resource, scopes, created_at from identity.grants where ${where}
    order by created_at, id offset ${offset} limit ${limit}`
  return { count: (counted?.count ?? 0) as number, rows }
}

export async function insertGrant(sql: Sql, tenantId: string, grant: GrantRow) {
  await sql`insert into identity.grants ${sql({ tenantId, ...grant })}`
}

export async function deleteGrant(sql: Sql, tenantId: string, id: string): Promise<GrantRow | undefined> {
  const [row] = await sql<GrantRow[]>`
    delete from identity.grants where tenant_id = ${tenantId} and id = ${id}
    returning id, subject_type, subject_id, resource, scopes, created_at`
  return row
}

/**
 * Locks the subject until the transaction ends. Returns false if there is none. A user of an external issuer (`<id of the issuer>:<sub>`)
 * exists if its issuer exists.
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
