/** SQL that reads changes of alerts in chronological order. */
import type { Sql } from '../../../../kernel/db.ts'
import type { AlertView, LifecycleEventType } from '../model.ts'
import { type AlertRow, alertColumns, viewOf } from './alerts.ts'

export interface AlertChange {
  eventId: string
  eventType: LifecycleEventType
  applicationName: string | null
  /** The alert as it is now, not as it was after the change. */
  alert: AlertView
}

/** Finds changes since a time, oldest first. */
export async function findChangesSince(
  sql: Sql,
  query: {
    tenantId: string
    applicationName: string | undefined
    endpointIds: readonly string[] | undefined
    since: Date
    limit: number
  },
): Promise<AlertChange[]> {
  const rows = await sql<(AlertRow & { eventId: string; eventType: LifecycleEventType })[]>`
    select e.id as event_id, e.event_type, ${alertColumns(sql)}
    from rules.alert_events e join rules.alerts a on a.id = e.alert_id
    where e.created_at >= ${query.since} and a.tenant_id = ${query.tenantId}
      ${query.applicationName === undefined ? sql`` : sql`and a.application_name = ${query.applicationName}`}
      ${query.endpointIds ? sql`and a.entity_type = 'ENDPOINT' and a.entity_id = any(${[...query.endpointIds]}::text[])` : sql``}
    order by e.created_at, e.id limit ${query.limit}`
  return rows.map(({ eventId, eventType, ...row }) => ({
    eventId,
    eventType,
    applicationName: row.applicationName,
    alert: viewOf(row),
  }))
}
