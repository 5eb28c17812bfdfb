import type { Sql } from '../../kernel/db.ts'

export interface BindingRow {
  endpointId: string
  tenantId: string
  applicationName: string
  versionName: string
  nodeId: string | null
  sessionKey: string | null
  tokenSealed: string | null
  boundAt: Date
}

/**
 * They have a connection at this node now, whatever was known of them; an older word than the stored one is ignored. `ifFree`: not
 * those that have a connection at another one.
 */
export async function saveBindings(sql: Sql, rows: BindingRow[], { ifFree = false } = {}) {
  const column = <K extends keyof BindingRow>(name: K) => rows.map((row) => row[name])
  await sql`
    insert into gateway.bindings
      (endpoint_id, tenant_id, application_name, version_name, node_id, session_key, token_sealed, bound_at)
    select * from unnest(${column('endpointId')}::text[], ${column('tenantId')}::text[],
      ${column('applicationName')}::text[], ${column('versionName')}::text[], ${column('nodeId')}::text[],
      ${column('sessionKey')}::text[], ${column('tokenSealed')}::text[],
      ${rows.map(({ boundAt }) => boundAt.toISOString())}::timestamptz[])
    on conflict (endpoint_id) do update set tenant_id = excluded.tenant_id,
      application_name = excluded.application_name, version_name = excluded.version_name, node_id = excluded.node_id,
      session_key = excluded.session_key, token_sealed = excluded.token_sealed, bound_at = excluded.bound_at
    where bindings.bound_at <= excluded.bound_at
      and (not ${ifFree} or bindings.node_id is null or bindings.node_id = excluded.node_id)`
}

/** They have no connection at this node any more; sessions that are kept wait for their clients. */
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

export async function findBinding(sql: Sql, endpointId: string): Promise<BindingRow | undefined> {
  const [row] = await sql<BindingRow[]>`select * from gateway.bindings where endpoint_id = ${endpointId}`
  return row
}

/** Which of these this node is the one to tell of, now that their connections ended: nobody else has taken them over. */
export async function findBoundHere(sql: Sql, nodeId: string, endpointIds: string[]): Promise<Set<string>> {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from gateway.bindings where endpoint_id = any(${endpointIds}) and node_id = ${nodeId} for update`
  return new Set(rows.map(({ endpointId }) => endpointId))
}

export const saveNode = (sql: Sql, nodeId: string) =>
  sql`
    insert into gateway.nodes (node_id, seen_at) values (${nodeId}, now())
    on conflict (node_id) do update set seen_at = excluded.seen_at`

export const deleteNode = (sql: Sql, nodeId: string) => sql`delete from gateway.nodes where node_id = ${nodeId}`

/** Endpoints of processes that have not been heard of for so long, some at a time. */
export const findLeftBehind = (sql: Sql, silentSeconds: number, limit: number) =>
  sql<BindingRow[]>`
    select b.* from gateway.bindings b left join gateway.nodes n on n.node_id = b.node_id
    where b.node_id is not null and (n.seen_at is null or n.seen_at < now() - make_interval(secs => ${silentSeconds}))
    limit ${limit}`

export const deleteSilentNodes = (sql: Sql, silentSeconds: number) =>
  sql`
    delete from gateway.nodes n where n.seen_at < now() - make_interval(secs => ${silentSeconds})
      and not exists (select from gateway.bindings b where b.node_id = n.node_id)`
