/** SQL of gateway integrations. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import { rowIdOf } from './row-id.ts'
import type { Status } from './status.ts'

export interface NewGatewayIntegration {
  netGatewayId: string
  endpointId: string
  name: string
  description: string | null
  endpointMetadata: Record<string, unknown> | null
  endpointRelations: unknown[] | null
  netGatewayInfo: Record<string, unknown> | null
}

export interface GatewayIntegrationRow extends NewGatewayIntegration {
  id: number
  tenantId: string
  accountIntegrationId: number
  appName: string
  appVersionName: string
  poolIds: string[]
  status: Status
  version: number
}

/** Inserts gateways. Returns the network ids of the inserted gateways. A network id that is not returned is already taken. */
export async function insertGateways(
  sql: Sql,
  common: {
    tenantId: string
    accountIntegrationId: number
    netIdentityServerKey: string
    appName: string
    appVersionName: string
    poolIds: string[]
  },
  gateways: NewGatewayIntegration[],
  at: Date,
): Promise<Set<string>> {
  const rows = await sql<{ netGatewayId: string }[]>`
    insert into lorawan.gateway_integrations (tenant_id, account_integration_id, net_identity_server_key, app_name,
      app_version_name, pool_ids, net_gateway_id, endpoint_id, name, description, endpoint_metadata, endpoint_relations,
      net_gateway_info, status, created_at)
    select ${common.tenantId}, ${common.accountIntegrationId}, ${common.netIdentityServerKey}, ${common.appName}, ${common.appVersionName},
      ${common.poolIds}::text[], g."netGatewayId", g."endpointId", g.name, g.description, g."endpointMetadata",
      g."endpointRelations", g."netGatewayInfo", 'ACTIVE', ${at}::timestamptz
    from jsonb_to_recordset(${sql.json(gateways)}) as g("netGatewayId" text, "endpointId" text, name text,
      description text, "endpointMetadata" jsonb, "endpointRelations" jsonb, "netGatewayInfo" jsonb)
    on conflict on constraint gateway_integration_gateway do nothing
    returning net_gateway_id`
  return new Set(rows.map(({ netGatewayId }) => netGatewayId))
}

/** Returns which of these gateway ids are taken in any account integration of the tenant with the same identity server. */
export async function findTakenGatewayIds(
  sql: Sql,
  server: { tenantId: string; netIdentityServerKey: string },
  netGatewayIds: string[],
): Promise<Set<string>> {
  const rows = await sql<{ netGatewayId: string }[]>`
    select net_gateway_id from lorawan.gateway_integrations
    where tenant_id = ${server.tenantId} and net_identity_server_key = ${server.netIdentityServerKey}
      and net_gateway_id = any(${netGatewayIds}::text[])`
  return new Set(rows.map(({ netGatewayId }) => netGatewayId))
}

export async function findGateway(
  sql: Sql,
  gateway: { accountIntegrationId: number; id: number },
): Promise<GatewayIntegrationRow | undefined> {
  const [row] = await sql<GatewayIntegrationRow[]>`
    select * from lorawan.gateway_integrations
    where account_integration_id = ${rowIdOf(gateway.accountIntegrationId)} and id = ${rowIdOf(gateway.id)}`
  return row
}

export async function lockGateway(
  sql: Sql,
  gateway: { accountIntegrationId: number; id: number },
): Promise<GatewayIntegrationRow | undefined> {
  const [row] = await sql<GatewayIntegrationRow[]>`
    select * from lorawan.gateway_integrations
    where account_integration_id = ${rowIdOf(gateway.accountIntegrationId)} and id = ${rowIdOf(gateway.id)} for update`
  return row
}

export async function findGatewaysByNetId(
  sql: Sql,
  accountIntegrationId: number,
  netGatewayIds: string[],
): Promise<GatewayIntegrationRow[]> {
  return await sql<GatewayIntegrationRow[]>`
    select * from lorawan.gateway_integrations
    where account_integration_id = ${accountIntegrationId} and net_gateway_id = any(${netGatewayIds}::text[])`
}

/** Finds gateways. `nameLike` is a LIKE pattern. If `ids` is given, finds only gateways with these ids. */
export async function findGateways(
  sql: Sql,
  query: {
    accountIntegrationId: number
    ids: number[] | null
    status: Status
    appVersionName: string | null
    netGatewayId: string | null
    nameLike: string | null
  },
  { offset, limit }: Window,
): Promise<{ total: number; rows: GatewayIntegrationRow[] }> {
  const matches = (): Fragment => sql`
    account_integration_id = ${query.accountIntegrationId} and status = ${query.status}
      and (${query.ids}::integer[] is null or id = any(${query.ids}::integer[]))
      and (${query.appVersionName}::text is null or app_version_name = ${query.appVersionName})
      and (${query.netGatewayId}::text is null or net_gateway_id = ${query.netGatewayId})
      and (${query.nameLike}::text is null or name ilike ${query.nameLike})`
  const [count] = await sql<{ count: number }[]>`
    select count(*)::integer as count from lorawan.gateway_integrations where ${matches()}`
  const rows = await sql<GatewayIntegrationRow[]>`
    select * from lorawan.gateway_integrations where ${matches()} order by id offset ${offset} limit ${limit}`
  return { total: count!.count, rows: [...rows] }
}
