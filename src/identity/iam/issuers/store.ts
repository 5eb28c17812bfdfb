import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export interface IssuerRow {
  id: string
  issuer: string
  audience: string | null
  rolesClaim: string | null
  createdAt: Date
}

export async function findIssuers(sql: Sql, tenantId: string, { offset, limit }: Window) {
  const [counted] = await sql`select count(*)::integer as count from identity.issuers where tenant_id = ${tenantId}`
  const rows = await sql<IssuerRow[]>`
    select id, issuer, audience, roles_claim, created_at from identity.issuers where tenant_id = ${tenantId}
    order by created_at, id offset ${offset} limit ${limit}`
  return { count: (counted?.count ?? 0) as number, rows }
}

/** Inserts a registration. Returns false if any tenant has already registered this issuer with this audience. */
export async function insertIssuer(sql: Sql, tenantId: string, issuer: IssuerRow): Promise<boolean> {
  const { count } = await sql`insert into identity.issuers ${sql({ tenantId, ...issuer })} on conflict do nothing`
  return count === 1
}

/** Deletes a registration and the grants to its users. Returns the issuer. */
export async function deleteIssuer(sql: Sql, tenantId: string, id: string): Promise<string | undefined> {
  const [row] = await sql`
    delete from identity.issuers where tenant_id = ${tenantId} and id = ${id} returning issuer`
  if (!row) return undefined
  await sql`
    delete from identity.grants
    where tenant_id = ${tenantId} and subject_type = 'user' and starts_with(subject_id, ${`${id}:`})`
  return row.issuer
}
