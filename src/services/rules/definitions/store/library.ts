/** SQL that rules, actions, triggers, snippets, secrets and alert settings have in common. */
import { likePart, type Sql } from '../../../../kernel/db.ts'
import type { Window } from '../../../../kernel/paging.ts'

export type Table = 'rules' | 'actions' | 'triggers' | 'snippets' | 'secrets' | 'alert_settings'

/** Columns that all these tables have. */
export interface LibraryRow {
  id: string
  tenantId: string
  name: string
  description: string | null
  createdAt: Date
  updatedAt: Date
}

export interface StatisticsRow {
  count: number
  totalMs: number
  minMs: number
  maxMs: number
  lastMs: number
}

/** Identifies a row. A row of another tenant or type is not found. */
export interface RowKey {
  tenantId: string
  id: string
  /** The type; only actions and triggers have a type. */
  type?: string | undefined
}

export interface LibraryQuery extends Window {
  tenantId: string
  type?: string | undefined
  /** The ids that the caller may read. */
  visible: 'all' | string[]
  name?: string | undefined
  description?: string | undefined
  sort: 'createdAt' | 'updatedAt'
  descending: boolean
  /**
   * True: list only rows that belong to an alert setting. False: list only rows that belong to no alert setting. Undefined: list all rows.
   */
  ofAlertSettings?: boolean | undefined
  /** Lists only actions that are attached to this rule, and rule-execution actions that run it. */
  ruleId?: string | undefined
}

const tableName = (sql: Sql, table: Table) =>
  ({
    rules: sql`rules.rules`,
    actions: sql`rules.actions`,
    triggers: sql`rules.triggers`,
    snippets: sql`rules.snippets`,
    secrets: sql`rules.secrets`,
    alert_settings: sql`rules.alert_settings`,
  })[table]

const sortColumn = (sql: Sql, sort: LibraryQuery['sort']) =>
  ({ createdAt: sql`t.created_at`, updatedAt: sql`t.updated_at` })[sort]

const isRow = (sql: Sql, { tenantId, id, type }: RowKey) =>
  sql`tenant_id = ${tenantId} and id = ${id} ${type === undefined ? sql`` : sql`and type = ${type}`}`

const attachedTo = (sql: Sql, ruleId: string) => sql`
  and (exists (select 1 from rules.rule_actions l where l.action_id = t.id and l.rule_id = ${ruleId})
    or t.executes = ${ruleId})`

const matching = (sql: Sql, table: Table, query: LibraryQuery) => sql`
  from ${tableName(sql, table)} t where t.tenant_id = ${query.tenantId}
    ${query.type === undefined ? sql`` : sql`and t.type = ${query.type}`}
    ${query.visible === 'all' ? sql`` : sql`and t.id::text = any(${query.visible}::text[])`}
    ${query.name ? sql`and t.name ilike ${likePart(query.name)}` : sql``}
    ${query.description ? sql`and t.description ilike ${likePart(query.description)}` : sql``}
    ${query.ofAlertSettings === undefined ? sql`` : query.ofAlertSettings ? sql`and t.alert_setting_id is not null` : sql`and t.alert_setting_id is null`}
    ${query.ruleId === undefined ? sql`` : attachedTo(sql, query.ruleId)}`

export async function countRows(sql: Sql, table: Table, query: LibraryQuery): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::integer as count ${matching(sql, table, query)}`
  return row!.count
}

/** Returns the part of a query that selects a page of the matching rows, in order. */
function pageOf(sql: Sql, table: Table, query: LibraryQuery) {
  const order = query.descending ? sql`desc` : sql`asc`
  return sql`${matching(sql, table, query)} order by ${sortColumn(sql, query.sort)} ${order}, t.id ${order}
    offset ${query.offset} limit ${query.limit}`
}

export const findRows = async <R extends LibraryRow>(sql: Sql, table: Table, query: LibraryQuery): Promise<R[]> =>
  await sql<R[]>`select t.* ${pageOf(sql, table, query)}`

export async function findRowIds(sql: Sql, table: Table, query: LibraryQuery): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select t.id ${pageOf(sql, table, query)}`
  return rows.map(({ id }) => id)
}

/** Returns the rows in the order of the ids. */
export const findRowsById = async <R extends LibraryRow>(sql: Sql, table: Table, ids: string[]): Promise<R[]> =>
  await sql<R[]>`
    select t.* from unnest(${ids}::uuid[]) with ordinality as given(id, position)
    join ${tableName(sql, table)} t using (id) order by given.position`

export async function findRow<R extends LibraryRow>(sql: Sql, table: Table, key: RowKey): Promise<R | undefined> {
  const [row] = await sql<R[]>`select * from ${tableName(sql, table)} where ${isRow(sql, key)}`
  return row
}

/** Finds a row and locks it until the transaction ends. */
export async function lockRow<R extends LibraryRow>(sql: Sql, table: Table, key: RowKey): Promise<R | undefined> {
  const [row] = await sql<R[]>`select * from ${tableName(sql, table)} where ${isRow(sql, key)} for update`
  return row
}

/** Returns the columns with objects as JSON values. Arrays stay PostgreSQL arrays. */
const withJson = (sql: Sql, columns: object) =>
  Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [name, isPlainObject(value) ? sql.json(value) : value]),
  )
const isPlainObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)

export async function insertRow(sql: Sql, table: Table, row: object): Promise<void> {
  await sql`insert into ${tableName(sql, table)} ${sql(withJson(sql, row))}`
}

export async function updateRow(sql: Sql, table: Table, key: RowKey, columns: object): Promise<void> {
  await sql`update ${tableName(sql, table)} set ${sql(withJson(sql, columns))} where ${isRow(sql, key)}`
}

export async function deleteRow(sql: Sql, table: Table, key: RowKey): Promise<void> {
  await sql`
    with deleted as (delete from ${tableName(sql, table)} where ${isRow(sql, key)} returning id)
    delete from rules.statistics where entity_id in (select id from deleted)`
}

export async function countOfTenant(sql: Sql, table: Table, tenantId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from ${tableName(sql, table)} where tenant_id = ${tenantId}`
  return row!.count
}

export async function findStatistics(sql: Sql, ids: string[]): Promise<Map<string, StatisticsRow>> {
  const rows = await sql<(StatisticsRow & { entityId: string })[]>`
    select entity_id, count::double precision as count, total_ms, min_ms, max_ms, last_ms
    from rules.statistics where entity_id = any(${ids}::uuid[])`
  return new Map(rows.map(({ entityId, ...statistics }) => [entityId, statistics]))
}
