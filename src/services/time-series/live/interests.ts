/**
 * Which nodes have watchers for which points. A node announces its interests when its watchers change. A node that starts, or that
 * may have lost messages, exchanges interests with all others. The interests of a node end with it.
 */
import type { Log } from '../../../kernel/log.ts'
import type { Members } from '../../../kernel/members.ts'
import type { Signals } from '../../../kernel/signals.ts'
import { type Interest, ReadInterests, SetInterest } from './signals.ts'

export interface Interests {
  /** Whether any other node watches anything. */
  isEmpty(): boolean
  /** The nodes that watch this endpoint. */
  nodesFor(of: { applicationName: string; endpointId: string }): string[]
  /** Tells all other nodes. True when each of them has answered: from then on no point is missed. */
  announce(interest: () => Interest): Promise<boolean>
  /** Reads the interests of all other nodes and announces the own ones to them. */
  exchange(): Promise<void>
}

/** A node that does not answer within this time is not waited for again until it answers. */
const usualAnswerMs = 1000

export function createInterests(deps: {
  signals: Pick<Signals, 'request' | 'answer'>
  members: Pick<Members, 'others' | 'onJoin' | 'onLeave'>
  log: Log
  /** What is watched on this node. */
  own(): Interest[]
  /** A node that joined did not answer: points that it stores may not be sent here. */
  missed(): void
  answerMs?: number
}): Interests {
  const { signals, members, log, own, answerMs = usualAnswerMs } = deps
  const { set, drop, isEmpty, nodesFor } = createTable()
  const silent = new Set<string>()
  /** Nodes whose interests are being read, with the applications for which they announced one meanwhile. */
  const reads = new Set<{ nodeId: string; announced: Set<string> }>()

  /** False where the node did not answer. */
  async function tell(nodeId: string, interest: Interest): Promise<boolean> {
    try {
      await signals.request(nodeId, SetInterest, interest, { timeoutMs: answerMs })
      silent.delete(nodeId)
      return true
    } catch (error) {
      const isNews = !silent.has(nodeId)
      silent.add(nodeId)
      if (isNews) log.warn({ err: error, nodeId }, 'a node did not answer; points that it stores may be missing live')
      return false
    }
  }

  const tellAll = async (nodeId: string) =>
    (await Promise.all(own().map((interest) => tell(nodeId, interest)))).every(Boolean)

  async function read(nodeId: string) {
    const announced = new Set<string>()
    const reading = { nodeId, announced }
    reads.add(reading)
    try {
      const interests = await signals.request(nodeId, ReadInterests, {}, { timeoutMs: answerMs })
      drop(nodeId, announced)
      for (const interest of interests) if (!announced.has(interest.applicationName)) set(nodeId, interest)
    } catch (error) {
      log.warn({ err: error, nodeId }, 'reading the live streams of a node failed; it announces them with its next one')
    } finally {
      reads.delete(reading)
    }
  }

  signals.answer(SetInterest, (interest, from) => {
    silent.delete(from)
    for (const { nodeId, announced } of reads) if (nodeId === from) announced.add(interest.applicationName)
    set(from, interest)
    return true
  })
  signals.answer(ReadInterests, own)
  members.onJoin(async (nodeId) => {
    // A node that was taken for dead comes back with its watchers.
    void read(nodeId)
    if (!(await tellAll(nodeId))) deps.missed()
  })
  members.onLeave((nodeId) => {
    silent.delete(nodeId)
    drop(nodeId)
  })

  return {
    isEmpty,
    nodesFor,
    async announce(interest) {
      const answers = members.others().map(({ id }) => {
        const isSilent = silent.has(id)
        const told = tell(id, interest())
        return isSilent ? true : told
      })
      return (await Promise.all(answers)).every(Boolean)
    },
    async exchange() {
      await Promise.all(members.others().flatMap(({ id }) => [read(id), tellAll(id)]))
    },
  }
}

/** Interests by application, then by node. */
function createTable() {
  /** Undefined: all endpoints. */
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
