/** Rows of `kernel.signals`: committed messages that are not sent yet. */
import type { Sql } from '../db.ts'
import { usualTiming } from '../members.ts'
import { type Address, channelOf } from './transport.ts'

export interface SignalRow {
  id: number
  /** The sender; empty for a command that leaves the sending to any node. */
  nodeId: string
  address: Address
  topic: string
  /** JSON. */
  payload: string
}

/** Sent in place of a message: look at the table now. */
export const sweepNow = 'sweep'

export const claimedAtOnce = 200

/** Their ids, in the same order. */
export async function insertSignals(sql: Sql, rows: Omit<SignalRow, 'id'>[]): Promise<number[]> {
  if (rows.length === 0) return []
  const column = <K extends keyof Omit<SignalRow, 'id'>>(name: K) => rows.map((row) => row[name])
  const inserted = await sql<{ id: number }[]>`
    insert into kernel.signals (node_id, address, topic, payload)
    select node_id, address, topic, payload
    from unnest(${column('nodeId')}::text[], ${column('address')}::text[], ${column('topic')}::text[],
      ${column('payload')}::text[]) with ordinality as given(node_id, address, topic, payload, n)
    order by n returning id`
  return inserted.map(({ id }) => id)
}

/** Leaves the sending to any node that runs. */
export const insertForAnyNode = (sql: Sql, { address, topic, payload }: Omit<SignalRow, 'id' | 'nodeId'>) =>
  sql`
    with stored as (
      insert into kernel.signals (node_id, address, topic, payload) values ('', ${address}, ${topic}, ${payload}))
    select pg_notify(${channelOf('all')}, ${sweepNow})`

export const removeSignal = (sql: Sql, id: number) => sql`delete from kernel.signals where id = ${id}`

/**
 * Takes over rows that nobody has sent for a second: their node died, or could not send them. A row for any node is being handled by
 * its node while that one is alive. `pending`: rows that this node is about to send.
 */
export const claimStale = (sql: Sql, nodeId: string, pending: number[]) =>
  sql<SignalRow[]>`
    update kernel.signals set node_id = ${nodeId}, created_at = clock_timestamp()
    where id in (
      select s.id from kernel.signals s
      where s.id <> all(${pending}::bigint[]) and (s.node_id = '' or (
        s.created_at < clock_timestamp() - interval '1 s' and (s.address not like 'any/%' or not exists (
          select from kernel.nodes n where n.id = s.node_id and not n.gone
            and n.seen_at > now() - make_interval(secs => ${usualTiming.silentSeconds})))))
      order by s.id limit ${claimedAtOnce} for update skip locked)
    returning id, node_id, address, topic, payload`
