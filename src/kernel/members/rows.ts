/** Statements on `kernel.nodes`. */
import type { Sql } from '../db.ts'
import type { Member } from './types.ts'

export interface NodeRow extends Member {
  /** True if the node has stopped or was declared dead. */
  gone: boolean
  secondsSinceHeartbeat: number
  sweptBy: string | null
  sweepEnded: boolean
  /** False if `listener`, the server process of the connection on which the node listened, has ended or is not stored. */
  isListening: boolean
  /** True if the heartbeat of this node was written; false if other nodes sweep its rows. All rows have the same value. */
  isWritten: boolean
}

/** Writes the heartbeat of this node, and returns the rows of all nodes as they were before. */
export const touchNode = (
  sql: Sql,
  nodeId: string,
  { addresses, listener }: { addresses: Record<string, string>; listener: number | undefined },
) =>
  sql<NodeRow[]>`
    with beat as (
      update kernel.nodes set seen_at = now(), addresses = ${JSON.stringify(addresses)}::text::jsonb,
        listener = ${listener ?? null}::integer
      where id = ${nodeId} and swept_by is null and not gone returning id)
    select id, version, started_at, addresses, gone, swept_by, extract(epoch from now() - seen_at)::float8 as seconds_since_heartbeat,
      coalesce(swept_until < now(), true) as sweep_ended, exists (select from beat) as is_written,
      -- A later process of the server may have the same id.
      listener is not null and exists (
        select from pg_stat_get_activity(listener) s where coalesce(s.backend_start <= seen_at, true)) as is_listening
    from kernel.nodes`

export const insertNode = (sql: Sql, nodeId: string, version: string, addresses: Record<string, string>) =>
  sql`
    insert into kernel.nodes (id, version, addresses) values (${nodeId}, ${version}, ${JSON.stringify(addresses)}::text::jsonb)
    on conflict (id) do update set seen_at = now(), gone = false, swept_by = null, swept_until = null`

export const markStopped = async (sql: Sql, nodeId: string) => {
  await sql`update kernel.nodes set gone = true where id = ${nodeId}`
}

export interface SweepLease {
  /** Id of the dead node. */
  id: string
  /** Id of the node that sweeps. */
  by: string
  seconds: number
}

/** Takes the lease for sweeping a dead node. Returns false if the dead node is alive again or another node has the lease. */
export async function claimSweep(
  sql: Sql,
  { id, by, seconds }: SweepLease,
  deadAfterSeconds: number,
): Promise<boolean> {
  const { count } = await sql`
    update kernel.nodes set swept_by = ${by}, swept_until = now() + make_interval(secs => ${seconds})
    where id = ${id} and (gone or seen_at < now() - make_interval(secs => ${deadAfterSeconds}))
      and (swept_until is null or swept_until < now())`
  return count > 0
}

export const extendSweep = async (sql: Sql, { id, by, seconds }: SweepLease) => {
  await sql`
    update kernel.nodes set swept_until = now() + make_interval(secs => ${seconds}) where id = ${id} and swept_by = ${by}`
}

export const deleteSwept = async (sql: Sql, { id, by }: Omit<SweepLease, 'seconds'>) => {
  await sql`delete from kernel.nodes where id = ${id} and swept_by = ${by}`
}

/** Inserts a row of a dead node for each of these ids that has no row, except the id of this node. Returns the number of inserted rows. */
export async function insertUnknown(sql: Sql, ids: string[], nodeId: string): Promise<number> {
  const { count } = await sql`
    insert into kernel.nodes (id, version, gone) select id, '', true from unnest(${ids}::text[]) as id
    where id <> ${nodeId} on conflict do nothing`
  return count
}
