/** SQL of account integrations. */
import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { ConnectionFields, IntegrationRow } from './app-integrations.ts'
import { rowIdOf } from './row-id.ts'
import type { Status } from './status.ts'

export async function insertAccount(
  sql: Sql,
  row: ConnectionFields & { tenantId: string; status: Status; createdAt: Date },
): Promise<number> {
  const [created] = await sql<{ id: number }[]>`insert into lorawan.account_integrations ${sql(row)} returning id`
  return created!.id
}

export async function findAccount(sql: Sql, id: number): Promise<IntegrationRow | undefined> {
  const [row] = await sql<IntegrationRow[]>`select * from lorawan.account_integrations where id = ${rowIdOf(id)}`
  return row
}

export async function lockAccount(sql: Sql, id: number): Promise<IntegrationRow | undefined> {
  const [row] = await sql<
    IntegrationRow[]
  >`select * from lorawan.account_integrations where id = ${rowIdOf(id)} for update`
  return row
}

/** Finds account integrations. If `ids` is given, finds only integrations with these ids. */
export async function findAccounts(
  sql: Sql,
  query: { tenantId: string; ids: number[] | null; status: Status },
  { offset, limit }: Window,
): Promise<{ total: number; rows: IntegrationRow[] }> {
  const matches = () => sql`
    tenant_id = ${query.tenantId} and status = ${query.status}
      and (${query.ids}::integer[] is null or id = any(${query.ids}::integer[]))`
  const [count] = await sql<{ count: number }[]>`
    select count(*)::integer as count from lorawan.account_integrations where ${matches()}`
  const rows = await sql<IntegrationRow[]>`
    select * from lorawan.account_integrations where ${matches()} order by id offset ${offset} limit ${limit}`
  return { total: count!.count, rows: [...rows] }
}
