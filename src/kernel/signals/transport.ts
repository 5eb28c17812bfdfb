/** Transports of signals between nodes: one uses PostgreSQL's NOTIFY, the other works within a process. */
import type { Db } from '../db.ts'

/** The address of a signal: all nodes, one node, or any one node that runs a service. */
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
   * Receives messages to `all` and to this node. Calls `reset` when messages may have been lost. Calls `listening` with the id of the
   * server process whenever listening starts.
   */
  open(
    nodeId: string,
    receive: (address: Address, text: string) => void,
    reset: () => void,
    listening: (processId: number | undefined) => void,
  ): Promise<void>
  /** Sends the messages and deletes their rows from `kernel.signals`. Rows that were not sent are never deleted. */
  send(messages: Outgoing[], rowIds: number[]): Promise<void>
  close(): Promise<void>
}

export const channelOf = (address: Address) => `waypost_${address.replace('/', '_')}`

/**
 * Uses LISTEN and NOTIFY. In the whole server, commits with NOTIFY block each other, so a batch is one statement outside of the services'
 * transactions. The statement commits asynchronously; after a crash of PostgreSQL, deleted rows may reappear and are sent twice.
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

/** Connects nodes within one process. The returned function creates the transport of one node. */
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
