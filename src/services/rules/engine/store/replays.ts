/** SQL of replays. */
import type { Sql } from '../../../../kernel/db.ts'
import type { Window } from '../../../../kernel/paging.ts'

export interface Difference {
  eventId: string
  endpointId: string
  at: string
  /** The value that the rule returned when the message arrived; null if the rule did not run then. */
  before: string | null
  now: string
}

export interface ReplayRow {
  id: string
  tenantId: string
  ruleId: string
  nodeId: string
  status: 'RUNNING' | 'COMPLETED' | 'FAILED' | 'CANCELED'
  reason: string | null
  expression: string
  endpointIds: string[] | null
  fromTime: Date
  toTime: Date
  positionMicros: number
  eventsCount: number
  skippedCount: number
  differences: Difference[]
  callerType: string
  callerId: string
  createdAt: Date
}

const columns = (sql: Sql) => sql`
  id, tenant_id, rule_id, node_id, status, reason, expression, endpoint_ids, from_time, to_time,
  position_micros::float8 as position_micros, events_count, skipped_count, differences, caller_type, caller_id,
  created_at`

export async function insertReplay(
  sql: Sql,
  row: Omit<ReplayRow, 'status' | 'reason' | 'eventsCount' | 'skippedCount' | 'differences'>,
): Promise<void> {
  await sql`insert into rules.replays ${sql({ ...row, status: 'RUNNING', updatedAt: row.createdAt })}`
}

export async function findReplay(
  sql: Sql,
  replay: { tenantId: string; ruleId: string; id: string },
): Promise<ReplayRow | undefined> {
  const [row] = await sql<ReplayRow[]>`
    select ${columns(sql)} from rules.replays
    where id = ${replay.id} and tenant_id = ${replay.tenantId} and rule_id = ${replay.ruleId}`
  return row
}

interface RuleKey {
  tenantId: string
  ruleId: string
}

/** Returns replays of a rule, the newest first. */
export const findReplays = (sql: Sql, rule: RuleKey, { limit, offset }: Window) => sql<
  (Omit<ReplayRow, 'differences'> & { differencesCount: number })[]
>`
  select id, tenant_id, rule_id, node_id, status, reason, expression, endpoint_ids, from_time, to_time,
    position_micros::float8 as position_micros, events_count, skipped_count, caller_type, caller_id, created_at,
    jsonb_array_length(differences) as differences_count
  from rules.replays where tenant_id = ${rule.tenantId} and rule_id = ${rule.ruleId}
  order by created_at desc, id desc limit ${limit} offset ${offset}`

export async function countReplays(sql: Sql, rule: RuleKey): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from rules.replays where tenant_id = ${rule.tenantId} and rule_id = ${rule.ruleId}`
  return row!.count
}

/** Cancels a running replay. Its node stops at the next page of messages. Returns false if the replay has ended. */
export async function cancelReplay(sql: Sql, replay: RuleKey & { id: string }): Promise<boolean> {
  const { count } = await sql`
    update rules.replays set status = 'CANCELED', updated_at = now()
    where id = ${replay.id} and tenant_id = ${replay.tenantId} and rule_id = ${replay.ruleId} and status = 'RUNNING'`
  return count > 0
}

/** Stores the progress of a replay that this node runs. Returns false if the replay was canceled, deleted or taken over. */
export async function updateReplay(
  sql: Sql,
  row: Pick<
    ReplayRow,
    'id' | 'nodeId' | 'status' | 'reason' | 'positionMicros' | 'eventsCount' | 'skippedCount' | 'differences'
  >,
): Promise<boolean> {
  const { count } = await sql`
    update rules.replays set status = ${row.status}, reason = ${row.reason},
      position_micros = ${String(row.positionMicros)}::text::bigint, events_count = ${row.eventsCount},
      skipped_count = ${row.skippedCount}, differences = ${sql.json(row.differences)}, updated_at = now()
    where id = ${row.id} and node_id = ${row.nodeId} and status = 'RUNNING'`
  return count > 0
}

/** Moves the running replays of a dead node to this node. */
export const takeOverReplays = (sql: Sql, from: string, to: string) => sql<ReplayRow[]>`
  update rules.replays set node_id = ${to} where node_id = ${from} and status = 'RUNNING' returning ${columns(sql)}`

export async function countRunning(sql: Sql, tenantId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from rules.replays where tenant_id = ${tenantId} and status = 'RUNNING'`
  return row!.count
}

export async function deleteOldReplays(sql: Sql): Promise<void> {
  await sql`delete from rules.replays where updated_at < now() - interval '7 days'`
}
