/** Translates the conditions of the directory to SQL over `register.endpoints e`, `register.documents d` and `register.activity a`. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import type { FilterIndex } from '../../filters/filter-index.ts'
import { conditionsSql } from '../../lists/store/conditions.ts'
import { type Conditions, type Connection, connections } from '../query.ts'

/**
 * Reads whether an endpoint is connected: from the column or, if the tenant has configured other keys for connectivity, from the metadata.
 */
const connectedSql = (sql: Sql): Fragment => sql`coalesce(e.connected, case when e.connectivity_keys is not null
  then coalesce(e.metadata -> e.connectivity_keys[1] = 'true'::jsonb, false) end)`

/** Returns the connection as in the table `activity`: 0 means never connected, 1 disconnected, 2 connected. */
export const connectionSql = (sql: Sql): Fragment =>
  sql`case ${connectedSql(sql)} when true then 2 when false then 1 else 0 end`

export const numberOfConnection = (connection: Connection) => connections.indexOf(connection)

/** Joins to `e` the tables that the conditions need. */
export const joinsSql = (sql: Sql, { words }: Pick<Conditions, 'words'>): Fragment => sql`
  ${words.length > 0 ? sql`join register.documents d on d.tenant_id = e.tenant_id and d.application_name = e.application_name and d.seq = e.seq` : sql``}
  left join register.activity a on a.tenant_id = e.tenant_id and a.application_name = e.application_name and a.seq = e.seq`

/**
 * Joins the tables of `joinsSql`, but looks up each row by its index. With `joinsSql`, the planner reads all rows of a table of 100,000
 * rows to join 33 rows, if it expects thousands of rows. `offset 0` makes the planner look up the rows.
 */
export const lookupsSql = (sql: Sql, { words }: Pick<Conditions, 'words'>): Fragment => sql`
  ${
    words.length > 0
      ? sql`cross join lateral (select o.text from register.documents o
          where o.tenant_id = e.tenant_id and o.application_name = e.application_name and o.seq = e.seq offset 0) d`
      : sql``
  }
  left join lateral (select o.at from register.activity o
    where o.tenant_id = e.tenant_id and o.application_name = e.application_name and o.seq = e.seq offset 0) a on true`

/** Joins the tables of `joinsSql`, or no tables if no condition needs a join. */
export const neededJoinsSql = (sql: Sql, { words, activeAfter, activeBefore }: Conditions): Fragment =>
  words.length > 0 || activeAfter || activeBefore ? joinsSql(sql, { words }) : sql``

/** Returns all conditions, each with `and` before it. */
export function conditionSql(sql: Sql, tenantId: string, conditions: Conditions, filters: FilterIndex): Fragment {
  const { words, endpointIds, versionNames, connections: connectionStates, activeAfter, activeBefore } = conditions
  const parts = conditionsSql(sql, conditions.metadata).map((part) => sql`(${part})`)
  if (endpointIds) parts.push(sql`e.endpoint_id = any(${endpointIds}::text[])`)
  if (versionNames) parts.push(sql`e.version_name = any(${versionNames}::text[])`)
  if (connectionStates)
    parts.push(sql`${connectionSql(sql)} = any(${connectionStates.map(numberOfConnection)}::integer[])`)
  if (activeAfter) parts.push(sql`a.at >= ${activeAfter}`)
  // For an endpoint that was never active, the time of its registration counts. Otherwise every new endpoint would seem inactive for days.
  if (activeBefore) parts.push(sql`coalesce(a.at, e.created_date) < ${activeBefore}`)
  for (const word of words) parts.push(sql`strpos(d.text, ${word}) > 0`)
  for (const { filterId } of conditions.filters) parts.push(filters.contains(sql, tenantId, filterId, sql`e.seq`))
  return parts.reduce<Fragment>((before, part) => sql`${before} and ${part}`, sql``)
}
