/** SQL of sessions: the node that has the MQTT session of an integration, and the state of the session. */
import type { Fragment, Sql } from '../../../kernel/db.ts'

/** A session with the columns that a node needs to open it. */
export interface SessionRow {
  appIntegrationId: number
  tenantId: string
  claim: number
  startsClean: boolean
  clientId: string
  netUsername: string
  /** The sealed key. */
  netApiKey: string
  netPlainMqttServerUrl: string
}

const columns = (sql: Sql) => sql`
  s.app_integration_id, s.claim::float8 as claim, s.starts_clean, i.tenant_id, i.client_id, i.net_username, i.net_api_key,
  i.net_plain_mqtt_server_url`

/** Returns the condition for integrations that need a session. */
const isWanted = (sql: Sql) => sql`i.status = 'ACTIVE' and i.net_mqtt_integration_enabled`

/** Takes up to `limit` sessions that no node has. */
export async function claimSessions(sql: Sql, nodeId: string, limit: number): Promise<SessionRow[]> {
  return await sql<SessionRow[]>`
    with free as (
      select s.app_integration_id as id
      from lorawan.sessions s join lorawan.app_integrations i on i.id = s.app_integration_id
      where s.node_id is null and ${isWanted(sql)}
      order by s.app_integration_id limit ${limit} for update of s skip locked)
    update lorawan.sessions s set node_id = ${nodeId}, claim = s.claim + 1, is_connected = false, error = null
    from free, lorawan.app_integrations i
    where s.app_integration_id = free.id and i.id = free.id
    returning ${columns(sql)}`
}

/** Returns an expression that is true if `claimSessions` would find a session. */
export const existsFreeSession = (sql: Sql): Fragment => sql`
  exists (
    select from lorawan.sessions s join lorawan.app_integrations i on i.id = s.app_integration_id
    where s.node_id is null and ${isWanted(sql)})`

/** Returns the sessions of these integrations that this node has, except sessions that are no longer needed. */
export async function findSessions(sql: Sql, nodeId: string, ids: number[]): Promise<SessionRow[]> {
  return await sql<SessionRow[]>`
    select ${columns(sql)} from lorawan.sessions s join lorawan.app_integrations i on i.id = s.app_integration_id
    where s.node_id = ${nodeId} and s.app_integration_id = any(${ids}::integer[]) and ${isWanted(sql)}`
}

interface Claim {
  appIntegrationId: number
  nodeId: string
  claim: number
}

/** Writes the state if the node still has the session. */
export async function updateState(
  sql: Sql,
  { appIntegrationId, nodeId, claim }: Claim,
  { isConnected, error }: { isConnected: boolean; error: string | null },
) {
  await sql`
    update lorawan.sessions set is_connected = ${isConnected}, error = ${error}
    where app_integration_id = ${appIntegrationId} and node_id = ${nodeId} and claim = ${claim}`
}

/** Records that the broker has discarded the queued messages, so that the next connection does not discard messages again. */
export async function updateCleaned(sql: Sql, { appIntegrationId, nodeId, claim }: Claim) {
  await sql`
    update lorawan.sessions set starts_clean = false
    where app_integration_id = ${appIntegrationId} and node_id = ${nodeId} and claim = ${claim}`
}

export async function isClaimed(sql: Sql, { appIntegrationId, nodeId, claim }: Claim): Promise<boolean> {
  const rows = await sql`
    select 1 from lorawan.sessions
    where app_integration_id = ${appIntegrationId} and node_id = ${nodeId} and claim = ${claim}`
  return rows.length > 0
}

/**
 * Returns whether no node needs a session that `findSessions` did not return for this node: true if this node still has the session, or if
 * the session was deleted with its integration; false if another node has the session.
 */
export async function isUnwanted(sql: Sql, { appIntegrationId, nodeId, claim }: Claim): Promise<boolean> {
  const [row] = await sql<{ isOurs: boolean }[]>`
    select coalesce(node_id = ${nodeId} and claim = ${claim}, false) as is_ours
    from lorawan.sessions where app_integration_id = ${appIntegrationId}`
  return row?.isOurs ?? true
}

/** Releases the sessions of this node, or only the sessions with these `ids`. Returns how many were released. */
export async function releaseSessions(sql: Sql, nodeId: string, ids: number[] | null): Promise<number> {
  const { count } = await sql`
    update lorawan.sessions set node_id = null, is_connected = false, error = null
    where node_id = ${nodeId} and (${ids}::integer[] is null or app_integration_id = any(${ids}::integer[]))`
  return count
}

export async function findNodesWithSessions(sql: Sql): Promise<string[]> {
  const rows = await sql<{ nodeId: string }[]>`
    select distinct node_id from lorawan.sessions where node_id is not null`
  return rows.map(({ nodeId }) => nodeId)
}

export interface HeldEndpoint {
  endpointId: string
  appIntegrationId: number
  nodeId: string
}

/** Returns the nodes that have the sessions of these endpoints. Endpoints that are not devices of a network are not in the result. */
export async function findHolders(sql: Sql, tenantId: string, endpointIds: string[]): Promise<HeldEndpoint[]> {
  return await sql<HeldEndpoint[]>`
    select d.endpoint_id, d.app_integration_id, s.node_id
    from lorawan.device_integrations d join lorawan.sessions s on s.app_integration_id = d.app_integration_id
    where d.endpoint_id = any(${endpointIds}::text[]) and d.tenant_id = ${tenantId} and s.node_id is not null`
}

export async function hasDevices(sql: Sql, tenantId: string): Promise<boolean> {
  const rows = await sql`select 1 from lorawan.device_integrations where tenant_id = ${tenantId} limit 1`
  return rows.length > 0
}
