/**
 * SQL functions for `gateway.holders`, which records which node has the connection of an MQTT client. A row exists as long as the
 * connection.
 */
import type { Sql } from '../../kernel/db.ts'

export interface Claimed {
  key: string
  claim: number
  previousNodeId: string | null
}

/**
 * Claims clients for this node, in the order of the keys to avoid deadlocks. With `relaxed`, the commit does not wait for the disk. If a
 * crash loses a row, the only effect is that the previous node gets no signal.
 */
export async function claimHolders(sql: Sql, nodeId: string, keys: string[], relaxed: boolean): Promise<Claimed[]> {
  return await sql<Claimed[]>`
    insert into gateway.holders as h (session_key, node_id, claim)
    select key, ${nodeId}, nextval('gateway.session_claims')
    from unnest(${keys}::text[]) as key, set_config('synchronous_commit',
      case when ${relaxed} then 'off' else current_setting('synchronous_commit') end, true)
    order by key
    on conflict (session_key) do update set node_id = excluded.node_id, previous_node_id = h.node_id,
      claim = nextval('gateway.session_claims')
    returning session_key as key, claim, previous_node_id`
}

export const deleteHolders = (sql: Sql, holders: { key: string; claim: number }[]) => sql`
  delete from gateway.holders h
  using unnest(${holders.map(({ key }) => key)}::text[], ${holders.map(({ claim }) => claim.toString())}::text[]::bigint[])
    v (session_key, claim)
  where h.session_key = v.session_key and h.claim = v.claim`

/** Inserts rows that a sweep or a restore has removed, unless another node has claimed the client since. */
export const restoreHolders = (sql: Sql, nodeId: string, holders: { key: string; claim: number }[]) => sql`
  insert into gateway.holders (session_key, node_id, claim)
  select key, ${nodeId}, claim
  from unnest(${holders.map(({ key }) => key)}::text[], ${holders.map(({ claim }) => claim.toString())}::text[]::bigint[])
    as v (key, claim) order by key
  on conflict (session_key) do nothing`

/** Undoes `relaxed` of `claimHolders` for this transaction: its commit waits for the disk. */
export const commitToDisk = (sql: Sql) => sql`set local synchronous_commit to default`

export async function findHolders(sql: Sql, keys: string[]): Promise<Map<string, string>> {
  const rows = await sql<{ sessionKey: string; nodeId: string }[]>`
    select session_key, node_id from gateway.holders where session_key = any(${keys})`
  return new Map(rows.map(({ sessionKey, nodeId }) => [sessionKey, nodeId]))
}

export const deleteHoldersOfNode = (sql: Sql, nodeId: string) =>
  sql`delete from gateway.holders where node_id = ${nodeId}`

export async function findNodesWithHolders(sql: Sql): Promise<string[]> {
  const rows = await sql<{ nodeId: string }[]>`select distinct node_id from gateway.holders`
  return rows.map(({ nodeId }) => nodeId)
}
