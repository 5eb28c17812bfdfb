/**
 * Records which points each other node needs for its live streams (its interests). When the live streams of a node change, it announces its
 * interests. A node that starts, or that may have lost signals, exchanges interests with all other nodes.
 */
import type { Log } from '../../../kernel/log.ts'
import type { Members } from '../../../kernel/members.ts'
import type { Signals } from '../../../kernel/signals.ts'
import { interestsUnread, interestUnacknowledged } from '../log-messages.ts'
import { type Interest, ReadInterests, SetInterest } from './signals.ts'

export interface Interests {
  /** Returns true if no other node watches anything. */
  isEmpty(): boolean
  /** The nodes that watch this endpoint. */
  nodesFor(endpoint: { applicationName: string; endpointId: string }): string[]
  /**
   * Announces the interest to all other nodes. Resolves to false if a node did not acknowledge it. Nodes whose last request timed out are
   * not waited for: they do not change the result.
   */
  announce(interest: () => Interest): Promise<boolean>
  /** Reads the interests of all other nodes, and announces the interests of this node to them. */
  exchange(): Promise<void>
}

/** Time-out of a request. After a time-out, `announce` does not wait for that node until it responds again. */
const defaultTimeoutMs = 1000

export function createInterests(deps: {
  signals: Pick<Signals, 'request' | 'answer'>
  members: Pick<Members, 'others' | 'onJoin' | 'onLeave'>
  log: Log
  /** Returns the interests of this node. */
  ownInterests(): Interest[]
  /**
   * Called when a node that joined did not acknowledge the interests of this node. Points that the other node stores are possibly not
   * sent to this node.
   */
  onUnacknowledged(): void
  timeoutMs?: number
}): Interests {
  const { signals, members, log, ownInterests, timeoutMs = defaultTimeoutMs } = deps
  const { set, drop, isEmpty, nodesFor } = createTable()
  /** Nodes whose last request timed out. */
  const unresponsive = new Set<string>()
  /**
   * Reads of interests that are in progress. `announced` contains the applications for which the node announced its interest during the
   * read. Such an announcement is newer than the result of the read.
   */
  const reads = new Set<{ nodeId: string; announced: Set<string> }>()

  /** Announces an interest to one node. Returns false if the node did not acknowledge it. */
  async function announceTo(nodeId: string, interest: Interest): Promise<boolean> {
    try {
      await signals.request(nodeId, SetInterest, interest, { timeoutMs })
      unresponsive.delete(nodeId)
      return true
    } catch (error) {
      const isFirst = !unresponsive.has(nodeId)
      unresponsive.add(nodeId)
      if (isFirst) interestUnacknowledged(log, { err: error, nodeId })
      return false
    }
  }

  const announceAllTo = async (nodeId: string) =>
    (await Promise.all(ownInterests().map((interest) => announceTo(nodeId, interest)))).every(Boolean)

  async function read(nodeId: string) {
    const announced = new Set<string>()
    const reading = { nodeId, announced }
    reads.add(reading)
    try {
      const interests = await signals.request(nodeId, ReadInterests, {}, { timeoutMs })
      drop(nodeId, announced)
      for (const interest of interests) if (!announced.has(interest.applicationName)) set(nodeId, interest)
    } catch (error) {
      interestsUnread(log, { err: error, nodeId })
    } finally {
      reads.delete(reading)
    }
  }

  signals.answer(SetInterest, (interest, from) => {
    unresponsive.delete(from)
    for (const { nodeId, announced } of reads) if (nodeId === from) announced.add(interest.applicationName)
    set(from, interest)
    return true
  })
  signals.answer(ReadInterests, ownInterests)
  members.onJoin(async (nodeId) => {
    // A node that was considered dead may return with watchers, so its interests are read again.
    void read(nodeId)
    if (!(await announceAllTo(nodeId))) deps.onUnacknowledged()
  })
  members.onLeave((nodeId) => {
    unresponsive.delete(nodeId)
    drop(nodeId)
  })

  return {
    isEmpty,
    nodesFor,
    async announce(interest) {
      const acknowledgements = members.others().map(({ id }) => {
        const isUnresponsive = unresponsive.has(id)
        const acknowledged = announceTo(id, interest())
        return isUnresponsive ? true : acknowledged
      })
      return (await Promise.all(acknowledgements)).every(Boolean)
    },
    async exchange() {
      await Promise.all(members.others().flatMap(({ id }) => [read(id), announceAllTo(id)]))
    },
  }
}

/** Stores interests by application, then by node. */
function createTable() {
  /** The endpoints that a node watches; undefined means all. */
  const byApplication = new Map<string, Map<string, Set<string> | undefined>>()

  function set(nodeId: string, { applicationName, endpointIds }: Omit<Interest, 'tenantId'>) {
    const nodes = byApplication.get(applicationName) ?? new Map<string, Set<string> | undefined>()
    if (endpointIds?.length === 0) nodes.delete(nodeId)
    else nodes.set(nodeId, endpointIds && new Set(endpointIds))
    if (nodes.size === 0) byApplication.delete(applicationName)
    else byApplication.set(applicationName, nodes)
  }

  return {
    set,
    drop(nodeId: string, except?: Set<string>) {
      for (const applicationName of byApplication.keys())
        if (!except?.has(applicationName)) set(nodeId, { applicationName, endpointIds: [] })
    },
    isEmpty: () => byApplication.size === 0,
    nodesFor({ applicationName, endpointId }: { applicationName: string; endpointId: string }): string[] {
      const nodes = byApplication.get(applicationName)
      if (!nodes) return []
      return [...nodes].flatMap(([nodeId, endpointIds]) => (!endpointIds || endpointIds.has(endpointId) ? nodeId : []))
    },
  }
}
