/** SQL of dead letters. */
import type { Sql } from '../../../../kernel/db.ts'
import type { Window } from '../../../../kernel/paging.ts'

export interface DeadLetterRow {
  id: string
  tenantId: string
  ruleId: string
  triggerId: string
  endpointId: string | null
  eventId: string
  reason: string
  /** The event as JSON. */
  event: string
  createdAt: Date
}

export async function insertDeadLetters(sql: Sql, rows: DeadLetterRow[]): Promise<void> {
  await sql`insert into rules.dead_letters ${sql(rows)} on conflict (id) do nothing`
}

const readable = (sql: Sql, visible: 'all' | string[]) =>
  visible === 'all' ? sql`` : sql`and rule_id::text = any(${visible}::text[])`

export const findDeadLetters = (sql: Sql, tenantId: string, visible: 'all' | string[], { offset, limit }: Window) =>
  sql<Omit<DeadLetterRow, 'event' | 'tenantId'>[]>`
    select id, rule_id, trigger_id, endpoint_id, event_id, reason, created_at from rules.dead_letters
    where tenant_id = ${tenantId} ${readable(sql, visible)}
    order by created_at desc, id desc offset ${offset} limit ${limit}`

export async function countDeadLetters(sql: Sql, tenantId: string, visible: 'all' | string[]): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from rules.dead_letters where tenant_id = ${tenantId} ${readable(sql, visible)}`
  return row!.count
}

export async function findDeadLetter(sql: Sql, tenantId: string, id: string): Promise<DeadLetterRow | undefined> {
  const [row] = await sql<DeadLetterRow[]>`
    select * from rules.dead_letters where tenant_id = ${tenantId} and id = ${id}`
  return row
}

/** Deletes a dead letter. Returns false if it no longer exists. */
export async function deleteDeadLetter(sql: Sql, tenantId: string, id: string): Promise<boolean> {
  const { count } = await sql`delete from rules.dead_letters where tenant_id = ${tenantId} and id = ${id}`
  return count > 0
}
