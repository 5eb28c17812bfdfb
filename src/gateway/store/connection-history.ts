/** Statements on `gateway.connection_history`. */
import type { Sql } from '../../kernel/db.ts'

export interface StoredEvent {
  /** Milliseconds since 1970. */
  at: number
  connected: boolean
  reason?: string | undefined
}

export interface HistoryAddition {
  endpointId: string
  tenantId: string
  /** The events, newest first. */
  events: StoredEvent[]
}

/** Number of events that are kept for an endpoint. */
export const eventsKept = 50

/**
 * Adds events. A row is created only for a connect, because the disconnect of an unregistered endpoint arrives after its row was deleted.
 * All nodes lock the rows in the same order, to avoid deadlocks.
 */
export async function addToHistory(sql: Sql, additions: HistoryAddition[]) {
  if (additions.length === 0) return
  await sql`
    insert into gateway.connection_history as known (endpoint_id, tenant_id, events, changed_at)
    select a."endpointId", a."tenantId", a.events, statement_timestamp()
    from jsonb_to_recordset(${sql.json(additions)}) as a("endpointId" text, "tenantId" text, events jsonb)
    where a.events @? '$[*] ? (@.connected == true)'
      or exists (select from gateway.connection_history h where h.endpoint_id = a."endpointId")
    order by a."endpointId"
    on conflict (endpoint_id) do update set tenant_id = excluded.tenant_id, changed_at = excluded.changed_at,
      events = case when known.tenant_id = excluded.tenant_id then (
        select jsonb_agg(event order by position) from (
          select event, position from jsonb_array_elements(excluded.events || known.events) with ordinality as e(event, position)
          order by position limit ${eventsKept}) newest)
        else excluded.events end`
}

export async function findHistory(sql: Sql, tenantId: string, endpointId: string): Promise<StoredEvent[]> {
  const [row] = await sql<{ events: StoredEvent[] }[]>`
    select events from gateway.connection_history where endpoint_id = ${endpointId} and tenant_id = ${tenantId}`
  return row?.events ?? []
}

/**
 * Deletes the history of unregistered endpoints. The history stays if an endpoint with the same id was registered and has connected since.
 */
export async function deleteHistoryOf(sql: Sql, endpointIds: string[], before: Date) {
  await sql`
    delete from gateway.connection_history where endpoint_id = any(${endpointIds}::text[])
      and (events -> -1 ->> 'at')::bigint <= ${before.getTime()}`
}

/** Deletes up to `limit` rows and returns their number. */
export async function deleteHistoryOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  const { count } = await sql`
    delete from gateway.connection_history where ctid = any(array(
      select ctid from gateway.connection_history where tenant_id = ${tenantId} limit ${limit}))`
  return count
}
