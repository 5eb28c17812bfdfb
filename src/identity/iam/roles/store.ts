import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export interface RoleRow {
  name: string
  description: string | null
  scopes: string[]
  platformScopes: string[]
  builtIn: boolean
  createdAt: Date
}

export async function findRoles(sql: Sql, tenantId: string, { offset, limit }: Window) {
  const [counted] = await sql`select count(*)::integer as count from identity.roles where tenant_id = ${tenantId}`
  const rows = await sql<RoleRow[]>`
    select name, description, scopes, platform_scopes, built_in, created_at from identity.roles where tenant_id = ${tenantId}
    order by name offset ${offset} limit ${limit}`
  return { count: (counted?.count ?? 0) as number, rows }
}

export async function findRole(sql: Sql, tenantId: string, name: string): Promise<RoleRow | undefined> {
  const [row] = await sql<RoleRow[]>`
    select name, description, scopes, platform_scopes, built_in, created_at from identity.roles
    where tenant_id = ${tenantId} and name = ${name}`
  return row
}

/** Finds a role and locks it until the transaction ends. */
export async function lockRole(sql: Sql, tenantId: string, name: string): Promise<RoleRow | undefined> {
  const [row] = await sql<RoleRow[]>`
    select name, description, scopes, platform_scopes, built_in, created_at from identity.roles
    where tenant_id = ${tenantId} and name = ${name} for update`
  return row
}

/** Inserts a role. Returns undefined if the name is taken. */
export async function insertRole(
  sql: Sql,
  tenantId: string,
  role: Omit<RoleRow, 'createdAt'>,
): Promise<RoleRow | undefined> {
  const [row] = await sql<RoleRow[]>`
    insert into identity.roles ${sql({ tenantId, ...role })} on conflict do nothing
    returning name, description, scopes, platform_scopes, built_in, created_at`
  return row
}

export async function updateRole(
  sql: Sql,
  tenantId: string,
  { name, ...fields }: Pick<RoleRow, 'name' | 'description' | 'scopes' | 'platformScopes'>,
) {
  await sql`update identity.roles set ${sql(fields)} where tenant_id = ${tenantId} and name = ${name}`
}

/** Deletes a role, its assignments to users and clients, and the grants to it. */
export async function deleteRole(sql: Sql, tenantId: string, name: string) {
  await sql`
    update identity.users set roles = array_remove(roles, ${name})
    where tenant_id = ${tenantId} and ${name} = any(roles)`
  await sql`
    update identity.clients set roles = array_remove(roles, ${name})
    where tenant_id = ${tenantId} and ${name} = any(roles)`
  await sql`
    delete from identity.grants where tenant_id = ${tenantId} and subject_type = 'role' and subject_id = ${name}`
  await sql`delete from identity.roles where tenant_id = ${tenantId} and name = ${name}`
}

export async function findRoleNames(sql: Sql, tenantId: string): Promise<string[]> {
  const rows = await sql`select name from identity.roles where tenant_id = ${tenantId}`
  return rows.map(({ name }) => name)
}
