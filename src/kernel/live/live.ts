/**
 * Delivers events of topics to subscriptions on this node and on other nodes (docs/adr/0029-live-streams.md). A topic without subscriptions
 * costs its publisher one lookup in an empty map.
 */
import type { Log } from '../log.ts'
import type { Members } from '../members.ts'
import type { Signals } from '../signals.ts'
import { createForward } from './forward.ts'
import { createInterests } from './interests.ts'
import { createRouting } from './routing.ts'
import { LiveEventsForwarded, LiveNodeLeaving } from './signals.ts'
import type { GapReason, Interest, LiveEvent, LiveTopic, TopicDefinition } from './types.ts'

export type {
  FacetName,
  GapReason,
  HistoryQuery,
  Interest,
  LiveEvent,
  LiveOrigin,
  LiveTopic,
  LiveValue,
  TopicDefinition,
  ValueQuery,
} from './types.ts'
export { textOf } from './types.ts'

/** A subscription on this node. */
export interface Receiver {
  deliver(event: LiveEvent): void
  gap(reason: GapReason): void
}

export interface Live {
  /** Defines a topic, in `build` of the service that publishes its events. */
  define(topic: TopicDefinition): LiveTopic
  readonly topics: ReadonlyMap<string, TopicDefinition>
  /** Subscribes to events. `isComplete` resolves to false if another node did not respond: events of that node may be missing. */
  subscribe(topic: string, interests: Interest[], receiver: Receiver): { isComplete: Promise<boolean>; close(): void }
  /** Exchanges the interests of all nodes, so that each node forwards events to the nodes that need them. */
  start(): Promise<void>
  /** Forwards the last events, then announces that this node leaves. */
  stop(): Promise<void>
}

export function createLive(deps: {
  signals: Pick<Signals, 'request' | 'answer' | 'sendNow' | 'on' | 'onReset'>
  members: Pick<Members, 'nodeId' | 'others' | 'onJoin' | 'onLeave' | 'onSilent' | 'isAlone'>
  log: Log
}): Live {
  const { signals, members, log } = deps
  const topics = new Map<string, TopicDefinition>()
  const subscriptions = createRouting<Receiver>()
  const receivers = new Map<Receiver, Interest[]>()
  const forward = createForward(signals)
  const reportMissed = (topic?: string) => {
    for (const [receiver, interests] of receivers)
      if (topic === undefined || interests.some((one) => one.topic === topic)) receiver.gap('missed')
  }
  const interests = createInterests({ signals, members, log, onUnacknowledged: reportMissed })
  /** Nodes that have announced their stop. */
  const leaving = new Set<string>()

  const deliverHere = (topic: string, event: LiveEvent) =>
    subscriptions.visit(topic, event, (receiver) => receiver.deliver(event))

  signals.on(LiveEventsForwarded, (forwarded) => {
    for (const { topic, events, lost } of forwarded) {
      if (lost) reportMissed(topic)
      for (const event of events) deliverHere(topic, event)
    }
  })
  signals.on(LiveNodeLeaving, (_, from) => void leaving.add(from))
  /** Nodes that were killed, after streams have reported that events of these nodes are missing. */
  const silent = new Set<string>()
  // Events that a killed node had stored but not forwarded are only in the history.
  members.onSilent((nodeId) => {
    if (leaving.has(nodeId)) return
    silent.add(nodeId)
    reportMissed()
  })
  members.onLeave((nodeId) => {
    const hasGap = silent.delete(nodeId)
    if (!leaving.delete(nodeId) && !hasGap) reportMissed()
  })
  signals.onReset(async () => {
    // The missing events are reported after the exchange: all later events are forwarded to this node again.
    await interests.exchange()
    reportMissed()
  })

  return {
    topics,
    define(topic) {
      const { name } = topic
      if (topics.has(name)) throw new Error(`the live topic ${name} is defined twice`)
      topics.set(name, topic)
      return {
        isActive: () => !subscriptions.isEmpty(name) || !interests.nodes.isEmpty(name),
        isWanted: (origin) => subscriptions.has(name, origin) || interests.nodes.has(name, origin),
        tenantsHere: () => subscriptions.tenantsOf(name),
        publish(events) {
          for (const event of events) {
            deliverHere(name, event)
            if (!topic.isLocal) interests.nodes.visit(name, event, (nodeId) => forward.add(nodeId, name, event))
          }
        },
      }
    },
    subscribe(name, wanted, receiver) {
      const { isLocal = false, watched } = topics.get(name)!
      const isFirst = subscriptions.isEmpty(name)
      // A local topic loses no events when nodes lose contact.
      if (!isLocal) receivers.set(receiver, wanted)
      for (const interest of wanted) subscriptions.add(interest, receiver)
      if (isFirst) watched?.(true)
      let isOpen = true
      return {
        isComplete: isLocal ? Promise.resolve(true) : interests.add(wanted),
        close() {
          if (!isOpen) return
          isOpen = false
          receivers.delete(receiver)
          for (const interest of wanted) subscriptions.remove(interest, receiver)
          if (!isLocal) interests.remove(wanted)
          if (subscriptions.isEmpty(name)) watched?.(false)
        },
      }
    },
    start: interests.exchange,
    async stop() {
      await forward.stop()
      if (!members.isAlone()) await signals.sendNow('all', LiveNodeLeaving, {})
    },
  }
}
