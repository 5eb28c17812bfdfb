/** SQL for the ticks of schedules. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'

interface Tick {
  trigger: { id: string }
  plannedAt: Date
}

/**
 * Inserts ticks and returns the ticks that no other node has inserted before. Ticks are inserted in the order of their keys, so that nodes
 * cannot deadlock.
 */
export async function insertTicks<T extends Tick>(sql: Sql, ticks: T[]): Promise<T[]> {
  const rows = await sql<{ triggerId: string; plannedAt: Date }[]>`
    insert into rules.cron_ticks (trigger_id, planned_at)
    select * from unnest(
      ${ticks.map(({ trigger }) => trigger.id)}::uuid[], ${ticks.map(({ plannedAt }) => plannedAt.toISOString())}::timestamptz[])
      as tick (trigger_id, planned_at)
    order by 1, 2 on conflict do nothing returning trigger_id, planned_at`
  const inserted = new Set(rows.map(({ triggerId, plannedAt }) => `${triggerId} ${plannedAt.getTime()}`))
  return ticks.filter(({ trigger, plannedAt }) => inserted.has(`${trigger.id} ${plannedAt.getTime()}`))
}

export async function deleteOldTicks(sql: Sql): Promise<void> {
  await sql`delete from rules.cron_ticks where planned_at < now() - interval '1 day'`
}

/** Returns a page of the endpoints that a trigger covers, ordered by id. */
export async function findEndpointPage(
  sql: Sql,
  endpoints: Fragment,
  query: {
    tenantId: string
    appName: string | undefined
    appVersionName: string | undefined
    endpointIds: string[] | undefined
    after: string
    limit: number
  },
): Promise<{ endpointId: string; applicationName: string; versionName: string }[]> {
  return await sql<{ endpointId: string; applicationName: string; versionName: string }[]>`
    select endpoint_id, application_name, version_name from (${endpoints}) as e
    where tenant_id = ${query.tenantId} and endpoint_id > ${query.after}
      ${query.appName === undefined ? sql`` : sql`and application_name = ${query.appName}`}
      ${query.appVersionName === undefined ? sql`` : sql`and version_name = ${query.appVersionName}`}
      ${query.endpointIds === undefined ? sql`` : sql`and endpoint_id = any(${query.endpointIds}::text[])`}
    order by endpoint_id limit ${query.limit}`
}
