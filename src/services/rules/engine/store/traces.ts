/** SQL of traces. */
import { copyIn } from '../../../../kernel/copy-in.ts'
import type { Sql, TransactionSql } from '../../../../kernel/db.ts'
import { traceColumns } from '../trace-rows.ts'

export interface TraceRow {
  createdAt: Date
  id: string
  traceId: string
  entityId: string
  isFailure: boolean
  isOnDemand: boolean
  tenantId: string
  entityType: string
  raisedOnId: string
  stage: string | null
  reason: string | null
  metadata: string
}

export interface TraceFilter {
  tenantId: string
  /** The rules and actions whose traces the caller may read. */
  visible: 'all' | string[]
  traceId?: string | undefined
  entityType?: string | undefined
  entityId?: string | undefined
  isOnDemand?: boolean | undefined
  raisedOnId?: string | undefined
  isFailure?: boolean | undefined
  from?: Date | undefined
  to?: Date | undefined
}

/** The number and durations of the traces of a rule or action, on one day, that are written together. */
export interface TraceChange {
  tenantId: string
  entityId: string
  entityType: string
  day: string
  count: number
  totalMs: number
  minMs: number
  maxMs: number
  lastMs: number
}

export const copyTraces = (sql: Sql, rows: () => Buffer) =>
  copyIn(sql.unsafe(`copy rules.traces (${traceColumns.join(', ')}) from stdin (format binary)`), rows)

/** Inserts changes without waiting for the answer. The statement is sent together with the next statement. */
export function insertChanges(sql: Sql, changes: TraceChange[]): void {
  const column = <K extends keyof TraceChange>(key: K) => changes.map((change) => change[key])
  sql`
    insert into rules.trace_changes
      (tenant_id, entity_id, entity_type, day, count, total_ms, min_ms, max_ms, last_ms)
    select * from unnest(
      ${column('tenantId')}::text[], ${column('entityId')}::uuid[], ${column('entityType')}::text[],
      ${column('day')}::date[], ${column('count')}::integer[], ${column('totalMs')}::float8[],
      ${column('minMs')}::float8[], ${column('maxMs')}::float8[], ${column('lastMs')}::float8[])`.execute()
}

export async function exists(sql: Sql, { traceId, id }: { traceId: string; id: string }): Promise<boolean> {
  const [row] = await sql`select exists (select from rules.traces where trace_id = ${traceId} and id = ${id}) as yes`
  return row?.yes
}

/** Returns the ids of the given traces that exist. */
export async function findExisting(sql: Sql, traces: { traceId: string; id: string }[]): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select t.id from unnest(
      ${traces.map(({ traceId }) => traceId)}::uuid[], ${traces.map(({ id }) => id)}::uuid[]) as of (trace_id, id)
    join rules.traces t on t.trace_id = of.trace_id and t.id = of.id`
  return new Set(rows.map(({ id }) => id))
}

const matching = (sql: Sql, filter: TraceFilter) => sql`
  from rules.traces where tenant_id = ${filter.tenantId}
    ${filter.visible === 'all' ? sql`` : sql`and entity_id = any(${filter.visible}::uuid[])`}
    ${filter.traceId === undefined ? sql`` : sql`and trace_id = ${filter.traceId}`}
    ${filter.entityType === undefined ? sql`` : sql`and entity_type = ${filter.entityType}`}
    ${filter.entityId === undefined ? sql`` : sql`and entity_id = ${filter.entityId}`}
    ${filter.isOnDemand === undefined ? sql`` : sql`and is_on_demand = ${filter.isOnDemand}`}
    ${
      filter.raisedOnId === undefined
        ? sql``
        : sql`and hashtextextended(raised_on_id, 0) = hashtextextended(${filter.raisedOnId}, 0)
          and raised_on_id = ${filter.raisedOnId}`
    }
    ${filter.isFailure === undefined ? sql`` : sql`and is_failure = ${filter.isFailure}`}
    ${filter.from === undefined ? sql`` : sql`and created_at >= ${filter.from}`}
    ${filter.to === undefined ? sql`` : sql`and created_at < ${filter.to}::timestamptz + interval '1 millisecond'`}`

/** The position of a trace in the list. Of two traces with the same time, the trace with the greater id comes first. */
export interface TracePosition {
  id: string
  /** The time as PostgreSQL writes it. A Date would lose the microseconds. */
  createdText: string
}

/** Finds the newest matching traces that come after a position in the list. */
export const findTraces = (
  sql: Sql,
  filter: TraceFilter,
  { after, offset, limit }: { after: TracePosition | undefined; offset: number; limit: number },
) =>
  sql<(TraceRow & TracePosition)[]>`
    select created_at, id, trace_id, entity_id, is_failure, is_on_demand, tenant_id, entity_type, raised_on_id, stage,
      reason, metadata, created_at::text as created_text
    ${matching(sql, filter)}
      ${after ? sql`and (created_at, id) < (${after.createdText}::text::timestamptz, ${after.id}::uuid)` : sql``}
    order by created_at desc, id desc offset ${offset} limit ${limit}`

/** Counts matching traces, up to a limit. */
export async function countTraces(sql: Sql, filter: TraceFilter, limit: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from (select 1 ${matching(sql, filter)} limit ${limit}) as found`
  return row!.count
}

/** Counts the traces of a tenant, or of a single rule or action, from the sums by day. */
export async function countFromSums(
  sql: Sql,
  selection: { tenantId: string; entityId: string | undefined },
): Promise<number> {
  const entity = selection.entityId === undefined ? sql`` : sql`and entity_id = ${selection.entityId}`
  const [row] = await sql<{ count: number }[]>`
    select ((select coalesce(sum(count), 0) from rules.trace_sums where tenant_id = ${selection.tenantId} ${entity})
      + (select coalesce(sum(count), 0) from rules.trace_changes where tenant_id = ${selection.tenantId} ${entity}))::float8
      as count`
  return row!.count
}

/**
 * Returns the event for which a rule ran in a chain. If the rule has several traces there, the newest with an event is used, or else the
 * newest.
 */
export async function findEvent(
  sql: Sql,
  trace: { tenantId: string; traceId: string; ruleId: string },
): Promise<{ event: string | null; raisedOnId: string; isOnDemand: boolean } | undefined> {
  const [row] = await sql<{ event: string | null; raisedOnId: string; isOnDemand: boolean }[]>`
    select event, raised_on_id, is_on_demand from rules.traces
    where trace_id = ${trace.traceId} and tenant_id = ${trace.tenantId} and entity_id = ${trace.ruleId}
    order by event is null, created_at desc limit 1`
  return row
}

/** Returns the outcome and metadata of the first rule in each of these chains. */
export async function findMetadata(
  sql: Sql,
  traceIds: string[],
): Promise<Map<string, { isFailure: boolean; reason: string | null; metadata: string }>> {
  const rows = await sql<{ traceId: string; isFailure: boolean; reason: string | null; metadata: string }[]>`
    select distinct on (trace_id) trace_id, is_failure, reason, metadata from rules.traces
    where trace_id = any(${traceIds}::uuid[]) and entity_type = 'RULE' order by trace_id, created_at`
  return new Map(rows.map(({ traceId, ...row }) => [traceId, row]))
}

/**
 * Deletes the traces of a tenant that are older than a time, or all traces of the tenant. Subtracts the deleted traces from the sums by
 * day.
 */
export async function deleteTraces(sql: Sql, tenantId: string, before: Date | undefined): Promise<void> {
  const until = before === undefined ? sql`` : sql`and created_at < ${before}`
  await sql`
    with deleted as (delete from rules.traces where tenant_id = ${tenantId} ${until} returning entity_id, created_at),
    numbers as (
      select (created_at at time zone 'UTC')::date as day, entity_id, count(*) as count from deleted group by 1, 2)
    insert into rules.trace_changes (tenant_id, entity_id, entity_type, day, count, total_ms, min_ms, max_ms, last_ms)
    select ${tenantId}, entity_id, '', day, -count, 0, 0, 0, 0 from numbers`
}

/** Deletes all engine data of a tenant. */
export async function deleteOfTenant(sql: Sql, tenantId: string): Promise<void> {
  await sql`delete from rules.traces where tenant_id = ${tenantId}`
  await sql`delete from rules.trace_sums where tenant_id = ${tenantId}`
  await sql`delete from rules.trace_changes where tenant_id = ${tenantId}`
  await sql`delete from rules.dead_letters where tenant_id = ${tenantId}`
  await sql`delete from rules.replays where tenant_id = ${tenantId}`
  await sql`delete from rules.events where tenant_id = ${tenantId}`
}

export const changesPerStatement = 20_000

/**
 * Adds up to `changesPerStatement` changes to the statistics of rules and actions and to the sums by day, and returns their number. The
 * changes of a rule or action that was deleted meanwhile are added only to the sums.
 */
export async function addUpChanges(sql: TransactionSql): Promise<number> {
  const rows = await sql`
    with taken as (
      delete from rules.trace_changes where id in (
        select id from rules.trace_changes order by id limit ${changesPerStatement} for update skip locked)
      returning *),
    sums as (
      insert into rules.trace_sums as s (day, tenant_id, entity_id, count)
      select day, tenant_id, entity_id, sum(count) from taken group by 1, 2, 3 order by 1, 2, 3
      on conflict (day, tenant_id, entity_id) do update set count = s.count + excluded.count),
    runs as (
      select entity_id, min(tenant_id) as tenant_id, sum(count) as count, sum(total_ms) as total_ms, min(min_ms) as min_ms,
        max(max_ms) as max_ms, (array_agg(last_ms order by id desc))[1] as last_ms
      from taken where count > 0 group by entity_id),
    known as (
      select r.* from runs r
      where exists (select from rules.rules where id = r.entity_id) or exists (select from rules.actions where id = r.entity_id)
      order by r.entity_id),
    counted as (
      insert into rules.statistics as s (entity_id, tenant_id, count, total_ms, min_ms, max_ms, last_ms)
      select entity_id, tenant_id, count, total_ms, min_ms, max_ms, last_ms from known
      on conflict (entity_id) do update set count = s.count + excluded.count, total_ms = s.total_ms + excluded.total_ms,
        min_ms = least(s.min_ms, excluded.min_ms), max_ms = greatest(s.max_ms, excluded.max_ms), last_ms = excluded.last_ms)
    select count(*)::integer as count from taken`
  return rows[0]!.count
}
