import { isUniqueViolation, type Sql } from '../../../kernel/db.ts'

export interface UserFields {
  username: string
  email: string | null
  firstName: string | null
  lastName: string | null
  passwordHash: string | null
  enabled: boolean
  roles: string[]
}

/** Inserts a user. Returns false if the username is taken. */
export async function insertUser(sql: Sql, user: UserFields & { tenantId: string; id: string }): Promise<boolean> {
  const { count } = await sql`insert into identity.users ${sql({ ...user })} on conflict do nothing`
  return count === 1
}

/** Updates a user. Returns false if the username is taken; the transaction must then be rolled back. */
export async function updateUser(sql: Sql, tenantId: string, id: string, fields: Partial<UserFields>, updatedAt: Date) {
  try {
    await sql`
      update identity.users set ${sql({ ...fields, updatedAt: updatedAt } as Record<string, unknown> as never)}
      where tenant_id = ${tenantId} and id = ${id}`
    return true
  } catch (error) {
    if (isUniqueViolation(error, 'users_username')) return false
    throw error
  }
}

export async function countOtherHolders(sql: Sql, tenantId: string, role: string, userId: string): Promise<number> {
  const [row] = await sql`
    select count(*)::integer as count from identity.users
    where tenant_id = ${tenantId} and enabled and ${role} = any(roles) and id <> ${userId}`
  return row?.count ?? 0
}

export async function deleteKeyGrantsOf(sql: Sql, tenantId: string, userId: string) {
  await sql`
    delete from identity.grants g using identity.api_keys k
    where g.tenant_id = ${tenantId} and g.subject_type = 'api-key' and g.subject_id = k.id
      and k.tenant_id = ${tenantId} and k.owner_type = 'user' and k.owner_id = ${userId}`
}
