/** SQL of `kernel.signals`: committed messages that are not sent yet. */
import type { Sql } from '../db.ts'
import { defaultTiming } from '../members.ts'
import { type Address, channelOf } from './transport.ts'

export interface SignalRow {
  id: number
  /**
   * The node that sends the message. Empty if any node may send the message: a `waypost` command, which is not a node, stores such
   * messages.
   */
  nodeId: string
  address: Address
  topic: string
  /** The payload as JSON. */
  payload: string
}

/** A notification with this text is not a message. It makes nodes sweep the table immediately. */
export const sweepNow = 'sweep'

export const claimLimit = 200

/** A row older than this is stale: its node has died or could not send it. Normally a node sends its rows 5 to 25 ms after the commit. */
const staleMs = 300

/** Inserts messages and returns their ids in the same order. */
export async function insertSignals(sql: Sql, rows: Omit<SignalRow, 'id'>[]): Promise<number[]> {
  if (rows.length === 0) return []
  if (rows.length === 1) return await insertSignal(sql, rows[0]!)
  const column = <K extends keyof Omit<SignalRow, 'id'>>(name: K) => rows.map((row) => row[name])
  const inserted = await sql<{ id: number }[]>`
    insert into kernel.signals (node_id, address, topic, payload)
    select node_id, address, topic, payload
    from unnest(${column('nodeId')}::text[], ${column('address')}::text[], ${column('topic')}::text[],
      ${column('payload')}::text[]) with ordinality as given(node_id, address, topic, payload, n)
    order by n returning id`
  return inserted.map(({ id }) => id)
}

/** Inserts a single message. This usual case needs no arrays and no sorting. */
async function insertSignal(sql: Sql, { nodeId, address, topic, payload }: Omit<SignalRow, 'id'>): Promise<number[]> {
  const [row] = await sql<{ id: number }[]>`
    insert into kernel.signals (node_id, address, topic, payload)
    values (${nodeId}, ${address}, ${topic}, ${payload}) returning id`
  return [row!.id]
}

/** Inserts a message that any running node may send. */
export const insertForAnyNode = (sql: Sql, { address, topic, payload }: Omit<SignalRow, 'id' | 'nodeId'>) =>
  sql`
    with stored as (
      insert into kernel.signals (node_id, address, topic, payload) values ('', ${address}, ${topic}, ${payload}))
    select pg_notify(${channelOf('all')}, ${sweepNow})`

export const removeSignal = (sql: Sql, id: number) => sql`delete from kernel.signals where id = ${id}`

/** Returns the condition for rows that were not sent within `staleMs`. `pending` are rows that this node is about to send. */
const isStale = (sql: Sql, pending: number[]) => sql`
  s.id <> all(${pending}::bigint[]) and (s.node_id = '' or (
    s.created_at < clock_timestamp() - make_interval(secs => ${staleMs / 1000}) and (s.address not like 'any/%' or not exists (
      select from kernel.nodes n where n.id = s.node_id and not n.gone
        and n.seen_at > now() - make_interval(secs => ${defaultTiming.deadAfterSeconds})))))`

export const existsStale = (sql: Sql, pending: number[]) =>
  sql`exists (select from kernel.signals s where ${isStale(sql, pending)})`

/**
 * Takes over rows that were not sent within `staleMs`, because their node died or could not send them. Messages to `any/…` must be handled
 * by exactly one node, so they are taken over only if their sender is dead.
 */
export const claimStale = (sql: Sql, nodeId: string, pending: number[]) =>
  sql<SignalRow[]>`
    update kernel.signals set node_id = ${nodeId}, created_at = clock_timestamp()
    where id in (
      select s.id from kernel.signals s
      where ${isStale(sql, pending)}
      order by s.id limit ${claimLimit} for update skip locked)
    returning id, node_id, address, topic, payload`
