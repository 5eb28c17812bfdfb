/** SQL that reads the outstanding commands of devices. */
import type { Sql } from '../../../kernel/db.ts'

export interface EndpointKey {
  tenantId: string
  endpointId: string
}

export interface Position {
  /** The greatest command id of the endpoint. */
  lastId: number
  isWaiting: boolean
}

/**
 * Returns, for each endpoint, its greatest command id and whether commands are outstanding. Undefined if the endpoint never had a command.
 */
export async function findPositions(sql: Sql, endpoints: EndpointKey[]): Promise<(Position | undefined)[]> {
  const rows = await sql<(Position & { ordinal: number })[]>`
    select g.ordinal::integer, e.last_id, exists (
      select 1 from commands.commands c
      where c.tenant_id = e.tenant_id and c.endpoint_id = e.endpoint_id and c.status_code is null
        and c.ends_at > statement_timestamp() and c.kept) as is_waiting
    from unnest(${endpoints.map(({ tenantId }) => tenantId)}::text[], ${endpoints.map(({ endpointId }) => endpointId)}::text[])
      with ordinality as g(tenant_id, endpoint_id, ordinal)
    join commands.endpoints e on e.tenant_id = g.tenant_id and e.endpoint_id = g.endpoint_id`
  const found = new Map(rows.map(({ ordinal, lastId, isWaiting }) => [ordinal, { lastId, isWaiting }]))
  return endpoints.map((_, index) => found.get(index + 1))
}

export interface OutstandingRow {
  id: number
  type: string
  /** JSON text. */
  payload: string | null
}

/** Returns outstanding commands, oldest first, as many as fit into `bytesMax`. Also returns whether there are more. */
export async function findOutstanding(
  sql: Sql,
  { tenantId, endpointId }: EndpointKey,
  { type = null, after = 0, bytesMax }: { type?: string | null | undefined; after?: number; bytesMax: number },
): Promise<{ commands: OutstandingRow[]; hasMore: boolean }> {
  const rows = await sql<(OutstandingRow & { total: number })[]>`
    select c.command_id as id, c.command_type as type, c.total, coalesce(c.payload, (
      select t.payload from commands.tasks t where t.tenant_id = ${tenantId} and t.task_id = c.task_id)) as payload
    from (
      select command_id, command_type, payload, task_id, count(*) over ()::integer as total,
        sum(size) over (order by command_id) as bytes, row_number() over (order by command_id) as nth
      from commands.commands
      where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and status_code is null
        and ends_at > statement_timestamp() and kept and command_id > ${after}
        and (${type}::text is null or command_type = ${type})) c
    where c.bytes <= ${bytesMax}::integer or c.nth = 1
    order by c.command_id`
  return {
    commands: rows.map(({ id, type, payload }) => ({ id, type, payload })),
    hasMore: rows.length < (rows[0]?.total ?? 0),
  }
}
