/** SQL that lists alerts. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { EntityType, LifecycleEventType } from '../model.ts'
import { type AlertRow, alertColumns } from './alerts.ts'

/** The alerts that a caller may read. */
export type Visible =
  | { tenantId: string; all: true }
  | { tenantId: string; all: false; applications: string[]; endpoints: string[] }

/** A condition on metadata: the keys of a path, and the value at this path. Without a value, the path must only exist. */
export interface MetadataCriterion {
  path: string[]
  value?: string
}

export interface Criteria {
  entityType?: EntityType | undefined
  entityIds?: string[] | undefined
  alertSettingId?: string | undefined
  alertTypes?: string[] | undefined
  states?: string[] | undefined
  isAcknowledged?: boolean | undefined
  severities?: number[] | undefined
  metadata?: MetadataCriterion | undefined
  entityMetadata?: MetadataCriterion | undefined
  fromStartedAt?: Date | undefined
  toStartedAt?: Date | undefined
}

export interface AlertPage {
  sort: 'startedAt' | 'lastActiveAt' | 'severityLevel'
  descending: boolean
  offset: number
  limit: number
}

function visibleOf(sql: Sql, visible: Visible): Fragment {
  if (visible.all) return sql`a.tenant_id = ${visible.tenantId}`
  const ofEndpoints = visible.endpoints.length === 0 ? sql`` : sql`or a.entity_id = any(${visible.endpoints}::text[])`
  return sql`a.tenant_id = ${visible.tenantId} and a.entity_type = 'ENDPOINT'
    and (a.application_name = any(${visible.applications}::text[]) ${ofEndpoints})`
}

/** Returns whether the tables of counts can be used. They contain sums for tenants and applications, but not for single endpoints. */
const canUseCounts = (visible: Visible) => visible.all || visible.endpoints.length === 0

const isAnsweredByCounts = (selection: Visible & Criteria) =>
  canUseCounts(selection) &&
  [
    selection.entityIds,
    selection.alertSettingId,
    selection.metadata,
    selection.entityMetadata,
    selection.fromStartedAt,
    selection.toStartedAt,
  ].every((criterion) => criterion === undefined)

function conditionOf(sql: Sql, selection: Visible & Criteria): Fragment {
  const conditionIf = (isGiven: boolean, condition: () => Fragment) => (isGiven ? sql`and ${condition()}` : sql``)
  const { entityType, entityIds, alertTypes, states, isAcknowledged, severities } = selection
  return sql`
    ${visibleOf(sql, selection)}
    ${conditionIf(entityType !== undefined, () => sql`a.entity_type = ${entityType!}`)}
    ${conditionIf(entityIds !== undefined, () => sql`a.entity_id = any(${entityIds!}::text[])`)}
    ${conditionIf(selection.alertSettingId !== undefined, () => sql`a.alert_setting_id = ${selection.alertSettingId!}::uuid`)}
    ${conditionIf(alertTypes !== undefined, () => sql`a.alert_type = any(${alertTypes!}::text[])`)}
    ${conditionIf(states !== undefined, () => stateCondition(sql, states!))}
    ${conditionIf(isAcknowledged !== undefined, () => sql`a.is_acknowledged = ${isAcknowledged!}`)}
    ${conditionIf(severities !== undefined, () => sql`a.severity = any(${severities!}::smallint[])`)}
    ${conditionIf(selection.metadata !== undefined, () => metadataCondition(sql, sql`a.metadata`, selection.metadata!))}
    ${conditionIf(selection.entityMetadata !== undefined, () => metadataCondition(sql, sql`a.entity_metadata`, selection.entityMetadata!))}
    ${conditionIf(selection.fromStartedAt !== undefined, () => sql`a.started_at >= ${selection.fromStartedAt!}`)}
    ${conditionIf(selection.toStartedAt !== undefined, () => sql`a.started_at <= ${selection.toStartedAt!}`)}`
}

/** Returns the condition on states. It contains a constant instead of a parameter, so that PostgreSQL can use the index of open alerts. */
function stateCondition(sql: Sql, states: string[]): Fragment {
  if (states.length === 1) return states[0] === 'OPEN' ? sql`a.state = 'OPEN'` : sql`a.state = 'RESOLVED'`
  return sql`a.state = any(${states}::text[])`
}

/**
 * Returns the condition on metadata, which compares values as text. Where possible, it also contains `@>` with the value as text, number or
 * boolean: PostgreSQL then finds the few alerts to compare in the index.
 */
function metadataCondition(sql: Sql, column: Fragment, { path, value }: MetadataCriterion): Fragment {
  if (value === undefined) return sql`${column} #> ${path}::text[] is not null`
  const same = sql`${column} #>> ${path}::text[] = ${value}`
  const scalar = scalarOf(value)
  // A number in the path may be an array index, which `@>` cannot express.
  if (path.some((key) => /^-?\d+$/.test(key)) || scalar === 'object') return same
  const nested = (leaf: unknown) => path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), leaf)
  const asText = sql`${column} @> ${sql.json(nested(value))}`
  if (scalar === 'text') return sql`${asText} and ${same}`
  return sql`(${asText} or ${column} @> ${sql.json(nested(JSON.parse(value)))}) and ${same}`
}

/** Returns what the text can mean besides a string: nothing (`text`), a number or boolean (`scalar`), or an object or array (`object`). */
function scalarOf(value: string): 'text' | 'scalar' | 'object' {
  try {
    const parsed: unknown = JSON.parse(value)
    return typeof parsed === 'object' && parsed !== null ? 'object' : parsed === null ? 'text' : 'scalar'
  } catch {
    return 'text'
  }
}

/** Counts alerts. If possible, it sums the table of counts, because counting rows takes longer the more alerts there are. */
export async function countAlerts(sql: Sql, selection: Visible & Criteria): Promise<number> {
  const [row] = isAnsweredByCounts(selection)
    ? await sql<{ count: number }[]>`
        select coalesce(sum(a.count), 0)::integer as count from rules.alert_counts a where ${conditionOf(sql, selection)}`
    : await sql<{ count: number }[]>`
        select count(*)::integer as count from rules.alerts a where ${conditionOf(sql, selection)}`
  return row!.count
}

/** Returns the part of a query that selects the alerts of a page, in order. Alerts with equal sort values are ordered by id. */
function pageOf(sql: Sql, selection: Visible & Criteria, page: AlertPage): Fragment {
  const column = {
    startedAt: sql`a.started_at`,
    lastActiveAt: sql`a.last_active_at`,
    severityLevel: sql`a.severity`,
  }[page.sort]
  const order = page.descending ? sql`${column} desc, a.id desc` : sql`${column} asc, a.id asc`
  return sql`from rules.alerts a where ${conditionOf(sql, selection)}
    order by ${order} offset ${page.offset} limit ${page.limit}`
}

export const findPage = async (sql: Sql, selection: Visible & Criteria, page: AlertPage): Promise<AlertRow[]> =>
  await sql<AlertRow[]>`select ${alertColumns(sql)} ${pageOf(sql, selection, page)}`

export async function findPageIds(sql: Sql, selection: Visible & Criteria, page: AlertPage): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select a.id ${pageOf(sql, selection, page)}`
  return rows.map(({ id }) => id)
}

/** Returns the alerts in the order of the ids. */
export const findAlertsById = async (sql: Sql, ids: string[]): Promise<AlertRow[]> =>
  await sql<AlertRow[]>`
    select ${alertColumns(sql)} from unnest(${ids}::uuid[]) with ordinality as given(id, position)
    join rules.alerts a on a.id = given.id order by given.position`

/**
 * Returns the types of the visible alerts. Each step of the recursion finds the next type in the index, so it does not read every alert.
 */
export async function findTypes(sql: Sql, visible: Visible, entityType: EntityType | undefined): Promise<string[]> {
  const condition = conditionOf(sql, { ...visible, entityType })
  const rows = await sql<{ alertType: string }[]>`
    with recursive found as (
      (select a.alert_type from rules.alerts a where ${condition} order by a.alert_type limit 1)
      union all
      select (
        select a.alert_type from rules.alerts a where ${condition} and a.alert_type > f.alert_type
        order by a.alert_type limit 1)
      from found f where f.alert_type is not null)
    select alert_type from found where alert_type is not null`
  return rows.map(({ alertType }) => alertType)
}

/** Returns the keys that the metadata of the visible alerts has, in alphabetical order, up to a limit. */
export async function findMetadataKeys(
  sql: Sql,
  visible: Visible,
  kind: 'ALERT' | 'ENTITY',
  limit: number,
): Promise<string[]> {
  if (canUseCounts(visible)) {
    const counted = await sql<{ key: string }[]>`
      select a.key from rules.alert_keys a where ${visibleOf(sql, visible)} and a.kind = ${kind}
      group by a.key having sum(a.count) > 0 order by a.key limit ${limit}`
    return counted.map(({ key }) => key)
  }
  const column = kind === 'ALERT' ? sql`a.metadata` : sql`a.entity_metadata`
  const rows = await sql<{ key: string }[]>`
    select distinct key collate "C" as key from (
      select distinct ${column} as document from rules.alerts a
      where ${visibleOf(sql, visible)} and ${column} is not null and ${column} <> '{}') d,
      jsonb_object_keys(d.document) as key
    order by 1 limit ${limit}`
  return rows.map(({ key }) => key)
}

export interface LifecycleEventRow {
  id: string
  eventType: LifecycleEventType
  createdAt: Date
  userId: string | null
  payload: Record<string, unknown>
}

export interface EventQuery {
  alertId: string
  eventType?: LifecycleEventType | undefined
  descending: boolean
  offset: number
  limit: number
}

const eventCondition = (sql: Sql, { alertId, eventType }: EventQuery) =>
  sql`alert_id = ${alertId}::uuid ${eventType === undefined ? sql`` : sql`and event_type = ${eventType}`}`

export async function countEvents(sql: Sql, query: EventQuery): Promise<number> {
  const [count] = await sql<{ total: number }[]>`
    select count(*)::integer as total from rules.alert_events where ${eventCondition(sql, query)}`
  return count!.total
}

function pageOfEvents(sql: Sql, query: EventQuery): Fragment {
  const order = query.descending ? sql`created_at desc, id desc` : sql`created_at asc, id asc`
  return sql`from rules.alert_events where ${eventCondition(sql, query)}
    order by ${order} offset ${query.offset} limit ${query.limit}`
}

export const findEvents = async (sql: Sql, query: EventQuery): Promise<LifecycleEventRow[]> =>
  await sql<LifecycleEventRow[]>`
    select id, event_type, created_at, user_id, payload ${pageOfEvents(sql, query)}`

export async function findEventIds(sql: Sql, query: EventQuery): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id ${pageOfEvents(sql, query)}`
  return rows.map(({ id }) => id)
}

/** Returns the events in the order of the ids. */
export const findEventsById = async (sql: Sql, ids: string[]): Promise<LifecycleEventRow[]> =>
  await sql<LifecycleEventRow[]>`
    select e.id, e.event_type, e.created_at, e.user_id, e.payload
    from unnest(${ids}::uuid[]) with ordinality as given(id, position)
    join rules.alert_events e on e.id = given.id order by given.position`
