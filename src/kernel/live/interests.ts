/**
 * Records which node needs which events. When the subscriptions of a node change, the node sends the differences. A node that starts, or
 * that may have lost signals, exchanges all interests with all other nodes.
 */
import { sleep } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Members } from '../members.ts'
import type { Signals } from '../signals.ts'
import { liveInterestsUnread, liveInterestUnacknowledged } from './log-messages.ts'
import { createRouting, interestOf, keyOf, type Routing } from './routing.ts'
import { ChangeInterests, ReadInterests } from './signals.ts'
import type { Interest } from './types.ts'

export interface Interests {
  /** The nodes that need an event. */
  nodes: Pick<Routing<string>, 'has' | 'isEmpty' | 'visit'>
  /**
   * Adds interests of this node. Resolves to true if all other nodes have acknowledged them. Does not wait for a node that did not answer
   * the last request.
   */
  add(interests: Interest[]): Promise<boolean>
  remove(interests: Interest[]): void
  /** Exchanges all interests with all other nodes. */
  exchange(): Promise<void>
}

/** Changes within this time are sent as one request. */
const batchMs = 5
const defaultTimeoutMs = 1000

interface Peer {
  nodeId: string
  /** Keys that have changed since the last request. */
  changed: Set<string>
  /** True until the node has acknowledged all interests. */
  needsAll: boolean
  /** True if the last request to the node timed out. `add` does not wait for such a node. */
  isUnresponsive: boolean
  sending: Promise<boolean> | undefined
}

interface Deps {
  signals: Pick<Signals, 'request' | 'answer'>
  members: Pick<Members, 'others' | 'onJoin' | 'onLeave'>
  log: Log
  /** Called when a node that joined did not acknowledge the interests of this node. Events of that node may not arrive at this node. */
  onUnacknowledged(): void
  timeoutMs?: number
}

export function createInterests(deps: Deps): Interests {
  const { signals, members, log, timeoutMs = defaultTimeoutMs } = deps
  const ownInterests = new Map<string, number>()
  const table = createTable()
  const peers = createPeers({ signals, log, timeoutMs, own: ownInterests })

  async function read(nodeId: string) {
    try {
      const { number, keys } = await signals.request(nodeId, ReadInterests, {}, { timeoutMs })
      table.change(nodeId, { number, isComplete: true, add: keys, remove: [] })
    } catch (error) {
      liveInterestsUnread(log, { err: error, nodeId })
    }
  }

  /** Announces changed keys to all other nodes. */
  const announce = (keys: string[]) =>
    keys.length === 0 ? [] : members.others().map(({ id }) => peers.announce(id, keys))

  signals.answer(ChangeInterests, (change, from) => {
    table.change(from, change)
    return true
  })
  signals.answer(ReadInterests, () => ({ number: peers.number(), keys: [...ownInterests.keys()] }))
  members.onJoin(async (nodeId) => {
    // A node that was considered dead may return with subscriptions, so its interests are read again.
    const [isAcknowledged] = await Promise.all([ownInterests.size === 0 || peers.announceAll(nodeId), read(nodeId)])
    if (!isAcknowledged) deps.onUnacknowledged()
  })
  members.onLeave((nodeId) => {
    peers.drop(nodeId)
    table.drop(nodeId)
  })

  return {
    nodes: table.routing,
    async add(interests) {
      const newKeys = interests.map(keyOf).filter((key) => {
        const count = ownInterests.get(key) ?? 0
        ownInterests.set(key, count + 1)
        return count === 0
      })
      // Another subscription may have added the same interests a moment ago. Its requests are awaited too.
      const acknowledgements = newKeys.length > 0 ? announce(newKeys) : peers.sending()
      return (await Promise.all(acknowledgements)).every(Boolean)
    },
    remove(interests) {
      const removedKeys = interests.map(keyOf).filter((key) => {
        const count = ownInterests.get(key)! - 1
        if (count > 0) ownInterests.set(key, count)
        else ownInterests.delete(key)
        return count === 0
      })
      void Promise.all(announce(removedKeys))
    },
    async exchange() {
      await Promise.all(members.others().flatMap(({ id }) => [peers.announceAll(id), read(id)]))
    },
  }
}

/** Sends the interests of this node to the other nodes. Each node gets one request at a time. */
function createPeers(deps: {
  signals: Deps['signals']
  log: Log
  timeoutMs: number
  own: ReadonlyMap<string, number>
}) {
  const { signals, log, timeoutMs, own } = deps
  const peers = new Map<string, Peer>()
  let number = 0

  function peerOf(nodeId: string): Peer {
    const known = peers.get(nodeId)
    if (known) return known
    const peer = { nodeId, changed: new Set<string>(), needsAll: true, isUnresponsive: false, sending: undefined }
    peers.set(nodeId, peer)
    return peer
  }

  function nextChange(peer: Peer) {
    const isComplete = peer.needsAll
    const keys = isComplete ? [...own.keys()] : [...peer.changed]
    peer.changed.clear()
    peer.needsAll = false
    return {
      number: ++number,
      isComplete,
      add: keys.filter((key) => own.has(key)),
      remove: keys.filter((key) => !own.has(key)),
    }
  }

  /** Sends the changes. If further changes arrive meanwhile, sends them too. Returns false if the node did not acknowledge. */
  async function send(peer: Peer): Promise<boolean> {
    await sleep(batchMs)
    while (peer.needsAll || peer.changed.size > 0)
      try {
        await signals.request(peer.nodeId, ChangeInterests, nextChange(peer), { timeoutMs })
        peer.isUnresponsive = false
      } catch (error) {
        peer.needsAll = true
        if (!peer.isUnresponsive) liveInterestUnacknowledged(log, { err: error, nodeId: peer.nodeId })
        peer.isUnresponsive = true
        return false
      }
    return true
  }

  function sendTo(peer: Peer): Promise<boolean> {
    peer.sending ??= send(peer).finally(() => {
      peer.sending = undefined
    })
    return peer.sending
  }

  return {
    /** Returns the number of the last change. */
    number: () => number,
    drop: (nodeId: string) => void peers.delete(nodeId),
    /** Returns the requests in progress. */
    sending: () => [...peers.values()].flatMap(({ sending }) => sending ?? []),
    announce(nodeId: string, keys: string[]): Promise<boolean> {
      const peer = peerOf(nodeId)
      for (const key of keys) peer.changed.add(key)
      const { isUnresponsive } = peer
      const acknowledged = sendTo(peer)
      return isUnresponsive ? Promise.resolve(true) : acknowledged
    },
    announceAll(nodeId: string): Promise<boolean> {
      const peer = peerOf(nodeId)
      peer.needsAll = true
      return sendTo(peer)
    },
  }
}

/** The interests of the other nodes. */
function createTable() {
  const routing = createRouting<string>()
  const nodes = new Map<string, { number: number; keys: Set<string> }>()
  return {
    routing,
    change(nodeId: string, change: { number: number; isComplete: boolean; add: string[]; remove: string[] }) {
      const node = nodes.get(nodeId) ?? { number: -1, keys: new Set<string>() }
      nodes.set(nodeId, node)
      if (change.number < node.number) return
      node.number = change.number
      const added = new Set(change.add)
      for (const key of change.isComplete ? node.keys : change.remove)
        if (!added.has(key) && node.keys.delete(key)) routing.remove(interestOf(key), nodeId)
      for (const key of added) {
        node.keys.add(key)
        routing.add(interestOf(key), nodeId)
      }
    },
    drop(nodeId: string) {
      for (const key of nodes.get(nodeId)?.keys ?? []) routing.remove(interestOf(key), nodeId)
      nodes.delete(nodeId)
    },
  }
}
