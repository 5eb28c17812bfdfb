/**
 * Which nodes have watchers for which points. A node tells the others when its watchers change; a node that starts, or that may have
 * missed messages, asks the others. Interests of a node end with it.
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
  /** Asks all other nodes. */
  load(): Promise<void>
}

/** A node that does not answer for so long is not waited for again until it answers. */
const answerMs = 1000

export function createInterests(deps: {
  signals: Pick<Signals, 'request' | 'answer'>
  members: Pick<Members, 'others' | 'onJoin' | 'onLeave'>
  log: Log
  /** What is watched on this node. */
  own(): Interest[]
}): Interests {
  const { signals, members, log, own } = deps
  /** By application, then by node; undefined: all endpoints. */
  const byApplication = new Map<string, Map<string, Set<string> | undefined>>()
  const silent = new Set<string>()

  function set(nodeId: string, { applicationName, endpointIds }: Interest) {
    const nodes = byApplication.get(applicationName) ?? new Map<string, Set<string> | undefined>()
    if (endpointIds?.length === 0) nodes.delete(nodeId)
    else nodes.set(nodeId, endpointIds && new Set(endpointIds))
    if (nodes.size === 0) byApplication.delete(applicationName)
    else byApplication.set(applicationName, nodes)
  }

  function drop(nodeId: string) {
    for (const [applicationName, nodes] of byApplication)
      if (nodes.delete(nodeId) && nodes.size === 0) byApplication.delete(applicationName)
  }

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

  signals.answer(SetInterest, (interest, from) => {
    silent.delete(from)
    set(from, interest)
    return true
  })
  signals.answer(ReadInterests, own)
  members.onJoin((nodeId) => {
    for (const interest of own()) void tell(nodeId, interest)
  })
  members.onLeave((nodeId) => {
    silent.delete(nodeId)
    drop(nodeId)
  })

  return {
    isEmpty: () => byApplication.size === 0,
    nodesFor({ applicationName, endpointId }) {
      const nodes = byApplication.get(applicationName)
      if (!nodes) return []
      return [...nodes].flatMap(([nodeId, endpointIds]) => (!endpointIds || endpointIds.has(endpointId) ? nodeId : []))
    },
    async announce(interest) {
      const answers = members.others().map(({ id }) => {
        const isSilent = silent.has(id)
        const told = tell(id, interest())
        return isSilent ? true : told
      })
      return (await Promise.all(answers)).every(Boolean)
    },
    async load() {
      await Promise.all(
        members.others().map(async ({ id }) => {
          try {
            const interests = await signals.request(id, ReadInterests, {})
            drop(id)
            for (const interest of interests) set(id, interest)
          } catch (error) {
            log.warn(
              { err: error, nodeId: id },
              'a node did not say what is watched there; it is told with its next watcher',
            )
          }
        }),
      )
    },
  }
}
