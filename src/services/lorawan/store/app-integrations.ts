/** SQL of application integrations and the state of their sessions. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import { rowIdOf } from './row-id.ts'
import type { Status } from './status.ts'

/** The connection from an application or account integration to its network. */
export interface ConnectionFields {
  netUsername: string
  /** The sealed key. */
  netApiKey: string
  netIdentityServerHost: string
  netIdentityServerKey: string
  netNetworkServerHost: string | null
  netJoinServerHost: string | null
  netApplicationServerHost: string | null
  netPlainMqttServerUrl: string | null
  netMqttIntegrationEnabled: boolean
  name: string
  description: string | null
  poolIds: string[]
}

export interface IntegrationRow extends ConnectionFields {
  id: number
  tenantId: string
  status: Status
  version: number
}

export interface AppIntegrationRow extends IntegrationRow {
  appName: string
  /** The node that has the session. */
  nodeId: string | null
  isConnected: boolean
  error: string | null
}

/** The integrations that a caller may read: all integrations of the tenant, or only the integrations with these applications and ids. */
export type Visibility = 'all' | { appNames: string[]; ids: number[] }

const columns = (sql: Sql) => sql`
  i.id, i.tenant_id, i.app_name, i.net_username, i.net_api_key, i.net_identity_server_host, i.net_identity_server_key,
  i.net_network_server_host, i.net_join_server_host, i.net_application_server_host, i.net_plain_mqtt_server_url,
  i.net_mqtt_integration_enabled, i.name, i.description, i.pool_ids, i.status, i.version,
  s.node_id, coalesce(s.is_connected, false) as is_connected, s.error`

const source = (sql: Sql) => sql`
  lorawan.app_integrations i left join lorawan.sessions s on s.app_integration_id = i.id`

export async function insertAppIntegration(
  sql: Sql,
  row: ConnectionFields & { tenantId: string; appName: string; status: Status; clientId: string; createdAt: Date },
): Promise<number> {
  const [created] = await sql<{ id: number }[]>`insert into lorawan.app_integrations ${sql(row)} returning id`
  await sql`insert into lorawan.sessions (app_integration_id) values (${created!.id})`
  return created!.id
}

export async function findAppIntegration(sql: Sql, id: number): Promise<AppIntegrationRow | undefined> {
  const [row] = await sql<AppIntegrationRow[]>`select ${columns(sql)} from ${source(sql)} where i.id = ${rowIdOf(id)}`
  return row
}

export async function lockAppIntegration(sql: Sql, id: number): Promise<AppIntegrationRow | undefined> {
  const [row] = await sql<AppIntegrationRow[]>`
    select ${columns(sql)} from ${source(sql)} where i.id = ${rowIdOf(id)} for update of i`
  return row
}

const isVisible = (sql: Sql, visibility: Visibility): Fragment =>
  visibility === 'all'
    ? sql`true`
    : sql`(i.app_name = any(${visibility.appNames}::text[]) or i.id = any(${visibility.ids}::integer[]))`

export async function findAppIntegrations(
  sql: Sql,
  query: { tenantId: string; visibility: Visibility; status: Status; appName: string | null },
  { offset, limit }: Window,
): Promise<{ total: number; rows: AppIntegrationRow[] }> {
  const matches = () => sql`
    i.tenant_id = ${query.tenantId} and ${isVisible(sql, query.visibility)} and i.status = ${query.status}
      and (${query.appName}::text is null or i.app_name = ${query.appName})`
  const [count] = await sql<{ count: number }[]>`
    select count(*)::integer as count from lorawan.app_integrations i where ${matches()}`
  const rows = await sql<AppIntegrationRow[]>`
    select ${columns(sql)} from ${source(sql)} where ${matches()} order by i.id offset ${offset} limit ${limit}`
  return { total: count!.count, rows: [...rows] }
}

/**
 * Makes the next session discard the messages that the broker keeps, because uplinks that are published during a suspension are dropped.
 */
export async function startClean(sql: Sql, id: number) {
  await sql`update lorawan.sessions set starts_clean = true where app_integration_id = ${id}`
}
