import type { Sql } from '../../../kernel/db.ts'
import type { CredentialState } from '../states.ts'

export interface BasicRow {
  id: string
  username: string
  state: CredentialState
  createdDate: Date
  updatedDate: Date
  lastUseDate: Date | null
}

/** The columns that a login needs. */
export interface Login {
  id: string
  passwordHash: string
  state: CredentialState
  lastUseDate: Date | null
}

/** Inserts credentials. Returns false if the tenant already has this username. */
export async function insertBasic(
  sql: Sql,
  row: { tenantId: string; id: string; username: string; passwordHash: string; at: Date },
) {
  const { count } = await sql`
    insert into credentials.basic (tenant_id, id, username, password_hash, state, created_date, updated_date)
    values (${row.tenantId}, ${row.id}, ${row.username}, ${row.passwordHash}, 'Inactive', ${row.at}, ${row.at})
    on conflict (tenant_id, username) do nothing`
  return count === 1
}

const pageRows = 1000

/** Finds a page of the tenant's basic credentials, the oldest first. */
export async function findBasicPage(sql: Sql, tenantId: string, after: BasicRow | undefined) {
  const rows = await sql<BasicRow[]>`
    select id, username, state, created_date, updated_date, last_use_date from credentials.basic
    where tenant_id = ${tenantId}
      ${after ? sql`and (created_date, id) > (${after.createdDate}, ${after.id})` : sql``}
    order by created_date, id limit ${pageRows}`
  return { rows: [...rows], complete: rows.length < pageRows }
}

export async function findBasic(sql: Sql, tenantId: string, id: string): Promise<BasicRow | undefined> {
  const [row] = await sql<BasicRow[]>`
    select id, username, state, created_date, updated_date, last_use_date from credentials.basic
    where tenant_id = ${tenantId} and id = ${id}`
  return row
}

/** Finds a credential and locks it, so that its changes run one after the other. */
export async function lockBasic(sql: Sql, tenantId: string, id: string): Promise<BasicRow | undefined> {
  const [row] = await sql<BasicRow[]>`
    select id, username, state, created_date, updated_date, last_use_date from credentials.basic
    where tenant_id = ${tenantId} and id = ${id} for update`
  return row
}

export async function setBasicState(sql: Sql, tenantId: string, id: string, state: CredentialState, at: Date) {
  await sql`
    update credentials.basic set state = ${state}, updated_date = ${at} where tenant_id = ${tenantId} and id = ${id}`
}

/** Changes the password. Returns the username, or undefined if there are no such credentials. */
export async function setBasicPassword(
  sql: Sql,
  row: { tenantId: string; id: string; passwordHash: string; at: Date },
): Promise<string | undefined> {
  const [changed] = await sql<{ username: string }[]>`
    update credentials.basic set password_hash = ${row.passwordHash}, updated_date = ${row.at}
    where tenant_id = ${row.tenantId} and id = ${row.id} returning username`
  return changed?.username
}

/** Deletes credentials. Returns the username, or undefined if there are no such credentials. */
export async function deleteBasic(sql: Sql, tenantId: string, id: string): Promise<string | undefined> {
  const [deleted] = await sql<{ username: string }[]>`
    delete from credentials.basic where tenant_id = ${tenantId} and id = ${id} returning username`
  return deleted?.username
}

export async function deleteBasicOfTenant(sql: Sql, tenantId: string) {
  await sql`delete from credentials.basic where tenant_id = ${tenantId}`
}

// ── use

export async function findLogin(sql: Sql, tenantId: string, username: string): Promise<Login | undefined> {
  const [row] = await sql<Login[]>`
    select id, password_hash, state, last_use_date from credentials.basic
    where tenant_id = ${tenantId} and username = ${username}`
  return row
}

/** Activates an Inactive credential at its first use. Returns false if it is no longer Inactive. */
export async function activateBasic(sql: Sql, tenantId: string, id: string, at: Date) {
  const { count } = await sql`
    update credentials.basic set state = 'Active', updated_date = ${at}, last_use_date = ${at}
    where tenant_id = ${tenantId} and id = ${id} and state = 'Inactive'`
  return count === 1
}

export interface Use {
  tenantId: string
  id: string
  at: Date
}

/** Writes last uses in one statement, because after a restart all devices reconnect within a minute. */
export async function saveBasicUses(sql: Sql, uses: Use[]) {
  await sql`
    update credentials.basic b set last_use_date = used.at
    from unnest(${uses.map(({ tenantId }) => tenantId)}::text[], ${uses.map(({ id }) => id)}::text[],
      ${uses.map(({ at }) => at.toISOString())}::timestamptz[]) as used (tenant_id, id, at)
    where b.tenant_id = used.tenant_id and b.id = used.id
      and (b.last_use_date is null or b.last_use_date < used.at)`
}
