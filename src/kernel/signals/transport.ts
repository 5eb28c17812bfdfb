/** Transports of signals between nodes: PostgreSQL's NOTIFY, and one within a process. */
import type { Db } from '../db.ts'

/** All nodes, one node, or any one node that runs a service. */
export type Address = 'all' | `node/${string}` | `any/${string}`

export const isAny = (address: Address) => address.startsWith('any/')

/** Returns whether this node receives messages to the address. */
export const isFor = (address: Address, nodeId: string) => address === 'all' || address === `node/${nodeId}`

export interface Outgoing {
  address: Address
  text: string
}

export interface Transport {
  /**
   * Receives messages to `all` and to this node. Calls `reset` when messages may have been lost, and `listening` with the process of the
   * server whenever it begins to listen.
   */
  open(
    nodeId: string,
    receive: (address: Address, text: string) => void,
    reset: () => void,
    listening: (processId: number | undefined) => void,
  ): Promise<void>
  /** Sends the messages and deletes their rows from `kernel.signals`; never deletes rows that were not sent. */
  send(messages: Outgoing[], rowIds: number[]): Promise<void>
  close(): Promise<void>
}

export const channelOf = (address: Address) => `waypost_${address.replace('/', '_')}`

/**
 * LISTEN and NOTIFY. Commits with NOTIFY block each other in the whole server, so a batch is one statement outside of the
 * services' transactions. It commits asynchronously: after a crash of PostgreSQL, rows may reappear and are sent twice.
 */
export function postgresTransport(db: Db): Transport {
  const subscriptions: { unlisten(): Promise<void> }[] = []
  return {
    async open(nodeId, receive, reset, listening) {
      for (const address of ['all', `node/${nodeId}`] as Address[]) {
        let first = true
        const onListen = (processId: number | undefined) => {
          listening(processId)
          if (!first && address === 'all') reset()
          first = false
        }
        subscriptions.push(await db.sql.listen(channelOf(address), (text) => receive(address, text), onListen))
      }
    },
    async send(messages, rowIds) {
      await db.sql`
        with sent as (delete from kernel.signals where id = any(${rowIds}::bigint[]))
        select pg_notify(channel, text)
        from unnest(${messages.map(({ address }) => channelOf(address))}::text[],
            ${messages.map(({ text }) => text)}::text[]) as message (channel, text),
          set_config('synchronous_commit', 'off', true)`
    },
    async close() {
      await Promise.all(subscriptions.splice(0).map((channel) => channel.unlisten()))
    },
  }
}

/** Connects nodes within one process; the returned function creates the transport of one node. */
export function inProcessTransport(): (db: Db) => Transport {
  const nodes = new Map<string, (address: Address, text: string) => void>()
  return (db) => {
    let ownNodeId: string | undefined
    return {
      async open(nodeId, receive) {
        ownNodeId = nodeId
        nodes.set(nodeId, receive)
      },
      async send(messages, rowIds) {
        for (const { address, text } of messages)
          for (const [nodeId, receive] of nodes)
            if (isFor(address, nodeId)) queueMicrotask(() => receive(address, text))
        if (rowIds.length > 0) await db.sql`delete from kernel.signals where id = any(${rowIds}::bigint[])`
      },
      async close() {
        if (ownNodeId !== undefined) nodes.delete(ownNodeId)
      },
    }
  }
}
