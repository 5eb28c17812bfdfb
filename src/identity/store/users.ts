import { likePart, type Sql } from '../../kernel/db.ts'
import type { User } from '../types.ts'

type Row = Record<string, unknown>

const userOf = (row: Row): User => ({
  id: row.id as string,
  username: row.username as string,
  email: (row.email as string | null) ?? undefined,
  firstName: (row.firstName as string | null) ?? undefined,
  lastName: (row.lastName as string | null) ?? undefined,
  enabled: row.enabled as boolean,
  roles: row.roles as string[],
})

export async function findUser(sql: Sql, tenantId: string, id: string): Promise<User | undefined> {
  const [row] = await sql`
    select id, username, email, first_name, last_name, enabled, roles
    from identity.users where tenant_id = ${tenantId} and id = ${id}`
  return row && userOf(row)
}

/** Finds a user by username, or by an e-mail address that only one user has. */
export async function findForLogin(
  sql: Sql,
  tenantId: string,
  name: string,
): Promise<(User & { passwordHash: string | undefined }) | undefined> {
  const rows = await sql`
    select id, username, email, first_name, last_name, enabled, roles, password_hash,
      lower(username) = lower(${name}) as by_name
    from identity.users
    where tenant_id = ${tenantId} and (lower(username) = lower(${name}) or lower(email) = lower(${name}))
    limit 3`
  const row = rows.find(({ byName }) => byName) ?? (rows.length === 1 ? rows[0] : undefined)
  return row && { ...userOf(row), passwordHash: row.passwordHash ?? undefined }
}

/**
 * Returns the first of these names that another user already logs in with. A username must not be another user's e-mail address, and an
 * e-mail address must be neither the address nor the username of another user. A unique index compares usernames with usernames. The caller
 * must lock the realm.
 */
export async function findTakenName(
  sql: Sql,
  tenantId: string,
  id: string,
  { username, email }: { username?: string | undefined; email?: string | null | undefined },
): Promise<string | undefined> {
  const [row] = await sql<{ isUsername: boolean }[]>`
    select lower(email) = lower(${username ?? null}::text) as is_username from identity.users
    where tenant_id = ${tenantId} and id <> ${id}
      and (lower(email) in (lower(${username ?? null}::text), lower(${email ?? null}::text))
        or lower(username) = lower(${email ?? null}::text))
    limit 1`
  if (!row) return undefined
  return row.isUsername ? username : (email ?? undefined)
}

/** Locks the realm until the end of the transaction, for changes that must consider all its users. */
export async function lockUsers(sql: Sql, tenantId: string) {
  await sql`select from identity.realms where tenant_id = ${tenantId} for no key update`
}

export interface UserRow {
  id: string
  username: string
  email: string | null
  firstName: string | null
  lastName: string | null
  passwordHash: string
  roles: string[]
}

/** Inserts a user. Returns false if the username or the id is taken. */
export async function insertUser(sql: Sql, tenantId: string, user: UserRow): Promise<boolean> {
  const { count } = await sql`insert into identity.users ${sql({ tenantId, ...user })} on conflict do nothing`
  return count === 1
}

export interface UserFilter {
  search?: string
  enabled?: boolean
  offset: number
  limit: number | null
}

function matching(sql: Sql, tenantId: string, filter: UserFilter) {
  const part = filter.search === undefined ? null : likePart(filter.search)
  const enabled = filter.enabled ?? null
  return sql`
    from identity.users where tenant_id = ${tenantId}
      and (${enabled}::boolean is null or enabled = ${enabled})
      and (${part}::text is null or username ilike ${part} or email ilike ${part} or first_name ilike ${part}
        or last_name ilike ${part})`
}

const pageOf = (sql: Sql, tenantId: string, filter: UserFilter) =>
  sql`${matching(sql, tenantId, filter)} order by lower(username) offset ${filter.offset} limit ${filter.limit}`

export async function countUsers(sql: Sql, tenantId: string, filter: UserFilter): Promise<number> {
  const [counted] = await sql`select count(*)::integer as count ${matching(sql, tenantId, filter)}`
  return counted?.count ?? 0
}

export async function findUsers(sql: Sql, tenantId: string, filter: UserFilter): Promise<User[]> {
  const rows = await sql`
    select id, username, email, first_name, last_name, enabled, roles ${pageOf(sql, tenantId, filter)}`
  return rows.map(userOf)
}

export async function findUserIds(sql: Sql, tenantId: string, filter: UserFilter): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id ${pageOf(sql, tenantId, filter)}`
  return rows.map(({ id }) => id)
}

/** Returns the users with these ids, in the order of the list `ids`. */
export async function findUsersById(sql: Sql, tenantId: string, ids: string[]): Promise<User[]> {
  const rows = await sql`
    select u.id, u.username, u.email, u.first_name, u.last_name, u.enabled, u.roles
    from unnest(${ids}::text[]) with ordinality as given(id, position)
    join identity.users u on u.tenant_id = ${tenantId} and u.id = given.id order by given.position`
  return rows.map(userOf)
}

export const searchUsers = async (
  sql: Sql,
  tenantId: string,
  filter: UserFilter,
): Promise<{ count: number; users: User[] }> => ({
  count: await countUsers(sql, tenantId, filter),
  users: await findUsers(sql, tenantId, filter),
})

/** Deletes a user with its grants and API keys. Returns false if there is no such user. */
export async function deleteUser(sql: Sql, tenantId: string, id: string): Promise<boolean> {
  await sql`delete from identity.grants where tenant_id = ${tenantId} and subject_type = 'user' and subject_id = ${id}`
  await sql`delete from identity.api_keys where tenant_id = ${tenantId} and owner_type = 'user' and owner_id = ${id}`
  await sql`delete from identity.preferences where tenant_id = ${tenantId} and user_id = ${id}`
  const { count } = await sql`delete from identity.users where tenant_id = ${tenantId} and id = ${id}`
  return count === 1
}

export async function updatePassword(sql: Sql, tenantId: string, id: string, passwordHash: string, updatedAt: Date) {
  const { count } = await sql`
    update identity.users set password_hash = ${passwordHash}, updated_at = ${updatedAt}
    where tenant_id = ${tenantId} and id = ${id}`
  return count === 1
}

/** Locks the user's row until the transaction ends. */
export async function lockUser(sql: Sql, tenantId: string, id: string) {
  await sql`select from identity.users where tenant_id = ${tenantId} and id = ${id} for update`
}
