/** SQL functions for `gateway.bindings`: which node has the connection of an endpoint. Rules: README.md, "Several nodes". */
import type { Sql } from '../../kernel/db.ts'

export interface BindingRow {
  endpointId: string
  tenantId: string
  applicationName: string
  versionName: string
  nodeId: string | null
  sessionKey: string | null
  tokenSealed: string | null
}

export interface NewBinding extends BindingRow {
  nodeId: string
  /** Claim number of the CONNECT that opened the connection. */
  claim: number
  /** The highest number of an earlier binding of the endpoint that this node knew when it bound the endpoint. */
  follows: number
}

export interface SavedBinding {
  endpointId: string
  number: number
  previousNodeId: string | null
}

/**
 * Binds endpoints to this node. A binding of another node is replaced only if its CONNECT is earlier than the CONNECT of the new binding,
 * or if this node had received a signal about the old binding when it bound the endpoint. With `ifFree`, a binding of another node is never
 * replaced. Returns the written bindings.
 */
export async function saveBindings(sql: Sql, rows: NewBinding[], { ifFree = false } = {}): Promise<SavedBinding[]> {
  const column = <K extends keyof NewBinding>(name: K) => rows.map((row) => row[name])
  return await sql<SavedBinding[]>`
    insert into gateway.bindings as b
      (endpoint_id, tenant_id, application_name, version_name, node_id, session_key, token_sealed, claim, follows)
    select * from unnest(${column('endpointId')}::text[], ${column('tenantId')}::text[],
      ${column('applicationName')}::text[], ${column('versionName')}::text[], ${column('nodeId')}::text[],
      ${column('sessionKey')}::text[], ${column('tokenSealed')}::text[],
      ${column('claim').map(String)}::text[]::bigint[], ${column('follows').map(String)}::text[]::bigint[])
    on conflict (endpoint_id) do update set tenant_id = excluded.tenant_id,
      application_name = excluded.application_name, version_name = excluded.version_name,
      session_key = excluded.session_key, token_sealed = excluded.token_sealed, claim = excluded.claim,
      follows = excluded.follows, node_id = excluded.node_id, previous_node_id = b.node_id,
      number = nextval('gateway.binding_numbers')
    where b.node_id is null or b.node_id = excluded.node_id
      or (not ${ifFree} and (b.claim < excluded.claim or b.number <= excluded.follows))
    returning endpoint_id, number, previous_node_id`
}

/**
 * Assigns numbers to the disconnects of endpoints that are still bound to this node. The result does not contain endpoints of other nodes.
 */
export async function numberDisconnects(sql: Sql, nodeId: string, endpointIds: string[]): Promise<Map<string, number>> {
  const rows = await sql<{ endpointId: string; number: number }[]>`
    update gateway.bindings set number = nextval('gateway.binding_numbers')
    where endpoint_id = any(${endpointIds}) and node_id = ${nodeId} returning endpoint_id, number`
  return new Map(rows.map(({ endpointId, number }) => [endpointId, number]))
}

/** Ends bindings of this node. If the session outlives the connection, the row stays without a node, so that pushes find the session. */
export async function endBindings(sql: Sql, nodeId: string, endpointIds: string[]) {
  await sql`
    delete from gateway.bindings
    where endpoint_id = any(${endpointIds}) and node_id = ${nodeId} and session_key is null`
  await sql`
    update gateway.bindings set node_id = null where endpoint_id = any(${endpointIds}) and node_id = ${nodeId}`
}

export const deleteBindings = (sql: Sql, endpointIds: string[]) =>
  sql`delete from gateway.bindings where endpoint_id = any(${endpointIds})`

export const deleteBindingsOfTenant = (sql: Sql, tenantId: string) =>
  sql`delete from gateway.bindings where tenant_id = ${tenantId}`

export const findBindings = (sql: Sql, endpointIds: string[]) =>
  sql<BindingRow[]>`
    select endpoint_id, tenant_id, application_name, version_name, node_id, session_key, token_sealed
    from gateway.bindings where endpoint_id = any(${endpointIds})`

export const findBindingsOfNode = (sql: Sql, nodeId: string, limit: number) =>
  sql<BindingRow[]>`
    select endpoint_id, tenant_id, application_name, version_name, node_id, session_key, token_sealed
    from gateway.bindings where node_id = ${nodeId} limit ${limit}`

export async function findNodesWithBindings(sql: Sql): Promise<string[]> {
  const rows = await sql<{ nodeId: string }[]>`
    select distinct node_id from gateway.bindings where node_id is not null`
  return rows.map(({ nodeId }) => nodeId)
}

export async function findNumbers(sql: Sql, endpointIds: string[]): Promise<Map<string, number>> {
  const rows = await sql<{ endpointId: string; number: number }[]>`
    select endpoint_id, number from gateway.bindings where endpoint_id = any(${endpointIds})`
  return new Map(rows.map(({ endpointId, number }) => [endpointId, number]))
}
