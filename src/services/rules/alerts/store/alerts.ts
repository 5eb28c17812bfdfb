/** SQL that changes alerts. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import {
  type AlertKey,
  type AlertState,
  type AlertView,
  type EntityType,
  type LifecycleEventType,
  severitiesByRank,
} from '../model.ts'

export interface AlertRow {
  id: string
  tenantId: string
  alertType: string
  severity: number
  entityType: EntityType
  entityId: string
  applicationName: string | null
  state: AlertState
  isAcknowledged: boolean
  message: string | null
  resolveReason: string | null
  startedAt: Date
  lastActiveAt: Date
  resolvedAt: Date | null
  alertSettingId: string | null
  metadata: Record<string, unknown>
  entityMetadata: Record<string, unknown> | null
}

export const viewOf = (row: AlertRow): AlertView => ({
  id: row.id,
  alertType: row.alertType,
  severityLevel: severitiesByRank[row.severity]!,
  entityType: row.entityType,
  entityId: row.entityId,
  tenantId: row.tenantId,
  state: row.state,
  acknowledgement: row.isAcknowledged ? 'ACKNOWLEDGED' : 'UNACKNOWLEDGED',
  ...(row.message !== null && { message: row.message, activateReason: row.message }),
  ...(row.resolveReason !== null && { resolveReason: row.resolveReason }),
  startedAt: row.startedAt,
  lastActiveAt: row.lastActiveAt,
  ...(row.resolvedAt !== null && { resolvedAt: row.resolvedAt }),
  ...(row.alertSettingId !== null && { alertSettingId: row.alertSettingId }),
  metadata: row.metadata,
  ...(row.entityMetadata !== null && { entityMetadata: row.entityMetadata }),
})

export const alertColumns = (sql: Sql) => sql`
  a.id, a.tenant_id, a.alert_type, a.severity, a.entity_type, a.entity_id, a.application_name, a.state, a.is_acknowledged,
  a.message, a.resolve_reason, a.started_at, a.last_active_at, a.resolved_at, a.alert_setting_id, a.metadata, a.entity_metadata`

const keyList = (sql: Sql, keys: AlertKey[]) => sql`
  unnest(${keys.map(({ tenantId }) => tenantId)}::text[], ${keys.map(({ entityType }) => entityType)}::text[],
    ${keys.map(({ entityId }) => entityId)}::text[], ${keys.map(({ alertType }) => alertType)}::text[])
    as k(tenant_id, entity_type, entity_id, alert_type)`

/** Returns the keys that have an open alert, without locking the alerts. */
export async function findOpen(sql: Sql, keys: AlertKey[]): Promise<AlertKey[]> {
  return await sql<AlertKey[]>`
    select k.* from ${keyList(sql, keys)}
    join rules.alerts a using (tenant_id, entity_type, entity_id, alert_type) where a.state = 'OPEN'`
}

/** Locks the open alerts of these entities and types. The order of their ids avoids deadlocks between nodes. */
export async function lockOpen(sql: Sql, keys: AlertKey[]): Promise<AlertRow[]> {
  return await sql<AlertRow[]>`
    select ${alertColumns(sql)} from rules.alerts a
    where a.id = any(array(
      select a.id from ${keyList(sql, keys)}
      join rules.alerts a using (tenant_id, entity_type, entity_id, alert_type) where a.state = 'OPEN'))
      and a.state = 'OPEN'
    order by a.id for update`
}

export interface NewAlert extends AlertKey {
  id: string
  severity: number
  applicationName: string | null
  message: string | null
  at: Date
  alertSettingId: string | null
  metadata: Record<string, unknown>
  entityMetadata: Record<string, unknown> | null
}

/**
 * Opens alerts and returns the inserted alerts. An alert that is missing in the result is already open, because another node opened it
 * first.
 */
export async function insertAlerts(sql: Sql, alerts: NewAlert[]): Promise<AlertRow[]> {
  const column = <K extends keyof NewAlert>(name: K) => alerts.map((alert) => alert[name])
  const json = (name: 'metadata' | 'entityMetadata') =>
    alerts.map((alert) => (alert[name] === null ? null : JSON.stringify(alert[name])))
  return await sql<AlertRow[]>`
    insert into rules.alerts as a (
      id, tenant_id, alert_type, severity, entity_type, entity_id, application_name, state, message, started_at,
      last_active_at, alert_setting_id, metadata, entity_metadata)
    select n.id, n.tenant_id, n.alert_type, n.severity, n.entity_type, n.entity_id, n.application_name, 'OPEN', n.message,
      n.at, n.at, n.alert_setting_id, n.metadata::jsonb, n.entity_metadata::jsonb
    from unnest(${column('id')}::uuid[], ${column('tenantId')}::text[], ${column('alertType')}::text[],
      ${column('severity')}::smallint[], ${column('entityType')}::text[], ${column('entityId')}::text[],
      ${column('applicationName')}::text[], ${column('message')}::text[], ${column('at')}::timestamptz[],
      ${column('alertSettingId')}::uuid[], ${json('metadata')}::text[], ${json('entityMetadata')}::text[])
      as n(id, tenant_id, alert_type, severity, entity_type, entity_id, application_name, message, at, alert_setting_id,
        metadata, entity_metadata)
    on conflict (tenant_id, entity_type, entity_id, alert_type) where state = 'OPEN' do nothing
    returning ${alertColumns(sql)}`
}

/** Writes the changeable columns of locked alerts. */
export async function updateAlerts(sql: Sql, rows: AlertRow[]): Promise<void> {
  const column = <K extends keyof AlertRow>(name: K) => rows.map((row) => row[name])
  await sql`
    update rules.alerts a set severity = n.severity, state = n.state, is_acknowledged = n.is_acknowledged,
      message = n.message, resolve_reason = n.resolve_reason, last_active_at = n.last_active_at,
      resolved_at = n.resolved_at, metadata = n.metadata::jsonb
    from unnest(${column('id')}::uuid[], ${column('severity')}::smallint[], ${column('state')}::text[],
      ${column('isAcknowledged')}::boolean[], ${column('message')}::text[], ${column('resolveReason')}::text[],
      ${column('lastActiveAt')}::timestamptz[], ${column('resolvedAt')}::timestamptz[],
      ${rows.map(({ metadata }) => JSON.stringify(metadata))}::text[])
      as n(id, severity, state, is_acknowledged, message, resolve_reason, last_active_at, resolved_at, metadata)
    where a.id = n.id`
}

export interface NewLifecycleEvent {
  id: string
  alertId: string
  eventType: LifecycleEventType
  at: Date
  userId: string | null
  payload: Record<string, unknown>
}

export async function insertEvents(sql: Sql, events: NewLifecycleEvent[]): Promise<void> {
  await sql`
    insert into rules.alert_events (id, alert_id, event_type, created_at, user_id, payload)
    select n.id, n.alert_id, n.event_type, n.at, n.user_id, n.payload::jsonb
    from unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ alertId }) => alertId)}::uuid[],
      ${events.map(({ eventType }) => eventType)}::text[], ${events.map(({ at }) => at)}::timestamptz[],
      ${events.map(({ userId }) => userId)}::text[], ${events.map(({ payload }) => JSON.stringify(payload))}::text[])
      as n(id, alert_id, event_type, at, user_id, payload)`
}

export async function findAlert(sql: Sql, tenantId: string, id: string): Promise<AlertRow | undefined> {
  const [row] = await sql<AlertRow[]>`
    select ${alertColumns(sql)} from rules.alerts a where a.id = ${id}::uuid and a.tenant_id = ${tenantId}`
  return row
}

export async function findAlerts(sql: Sql, tenantId: string, ids: string[]): Promise<AlertRow[]> {
  return await sql<AlertRow[]>`
    select ${alertColumns(sql)} from rules.alerts a where a.id = any(${ids}::uuid[]) and a.tenant_id = ${tenantId}`
}

export async function lockAlert(sql: Sql, tenantId: string, id: string): Promise<AlertRow | undefined> {
  const [row] = await sql<AlertRow[]>`
    select ${alertColumns(sql)} from rules.alerts a where a.id = ${id}::uuid and a.tenant_id = ${tenantId} for update`
  return row
}

/** Deletes alerts and returns the ids of the alerts that existed. */
export async function deleteAlerts(sql: Sql, tenantId: string, ids: string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    delete from rules.alerts where id = any(${ids}::uuid[]) and tenant_id = ${tenantId} returning id`
  return rows.map(({ id }) => id)
}

/**
 * Deletes up to `limit` alerts of endpoints that were unregistered at `until`, and returns their number. If an endpoint was registered
 * again, its alerts that started after `until` stay. Otherwise they are deleted too: their times may come from a node whose clock was
 * ahead. `registered` returns a subquery of all registered endpoints.
 */
export async function deleteOfEndpoints(
  sql: Sql,
  registered: (sql: Sql) => Fragment,
  endpoints: { tenantId: string; endpointIds: string[]; until: Date; limit: number },
): Promise<number> {
  const { count } = await sql`
    delete from rules.alerts where id = any(array(
      select id from rules.alerts a
      where tenant_id = ${endpoints.tenantId} and entity_type = 'ENDPOINT' and entity_id = any(${endpoints.endpointIds}::text[])
        and (started_at <= ${endpoints.until}
          or not exists (select 1 from (${registered(sql)}) as e where e.endpoint_id = a.entity_id))
      limit ${endpoints.limit}))`
  return count
}

export async function hasAlertsOf(sql: Sql, tenantId: string, endpointIds: string[]): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    select exists (
      select 1 from rules.alerts where tenant_id = ${tenantId} and entity_id = any(${endpointIds}::text[])) as found`
  return row!.found
}

/** Deletes some alerts of a tenant. Returns how many were deleted. */
export async function deleteOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  const { count } = await sql`
    delete from rules.alerts where id = any(array(
      select id from rules.alerts where tenant_id = ${tenantId} limit ${limit}))`
  return count
}

/** Deletes some alerts that were resolved more than `days` days ago. Returns how many were deleted. */
export async function deleteOld(sql: Sql, days: number, limit: number): Promise<number> {
  const { count } = await sql`
    delete from rules.alerts where id = any(array(
      select id from rules.alerts
      where state = 'RESOLVED' and resolved_at < statement_timestamp() - make_interval(days => ${days}::integer)
      order by resolved_at limit ${limit}))`
  return count
}

/**
 * Combines the differences in `rules.alert_counts` and `rules.alert_keys`, which triggers of the database insert, into one row for each
 * combination of columns.
 */
export async function addUpCounts(sql: Sql): Promise<void> {
  await sql`
    with gone as (
      delete from rules.alert_counts c
      where c.tenant_id in (select tenant_id from rules.alert_counts where not is_sum) returning c.*)
    insert into rules.alert_counts
    select tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, sum(count), true
    from gone group by 1, 2, 3, 4, 5, 6, 7 having sum(count) <> 0`
  await sql`
    with gone as (
      delete from rules.alert_keys k
      where k.tenant_id in (select tenant_id from rules.alert_keys where not is_sum) returning k.*)
    insert into rules.alert_keys
    select tenant_id, application_name, entity_type, kind, key, sum(count), true
    from gone group by 1, 2, 3, 4, 5 having sum(count) <> 0`
}
