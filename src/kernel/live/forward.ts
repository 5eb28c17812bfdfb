/**
 * Forwards events to the nodes that have announced an interest in them. Events within 50 ms are sent as one signal. Each node gets one
 * signal at a time.
 */
import { sleep } from '../clock.ts'
import type { Signals } from '../signals.ts'
import { type ForwardedEvents, LiveEventsForwarded } from './signals.ts'
import { type LiveEvent, textOf } from './types.ts'

export interface Forward {
  add(nodeId: string, topic: string, event: LiveEvent): void
  /** Sends the queued events; gives up after one second. */
  stop(): Promise<void>
}

const batchMs = 50
/** Pause after a signal that could not be sent. */
const pauseMs = 500
const stopMs = 1000
/**
 * Maximum size of the queue for one node. Further events are dropped, and the streams on that node tell their clients that events are
 * missing (event `gap`).
 */
const queuedBytesMax = 8 * 1024 * 1024

interface Outgoing {
  topics: Map<string, ForwardedEvents>
  bytes: number
  sending: Promise<void>
}

/** Estimates the memory that an event takes while it is queued. */
export const bytesOf = (event: LiveEvent) => 250 + 2 * textOf(event).length

export function createForward(signals: Pick<Signals, 'sendNow'>): Forward {
  const nodes = new Map<string, Outgoing>()
  let isStopped = false

  function queueOf(outgoing: Outgoing, topic: string): ForwardedEvents {
    const queued = outgoing.topics.get(topic) ?? { topic, events: [] }
    outgoing.topics.set(topic, queued)
    return queued
  }

  async function send(nodeId: string, outgoing: Outgoing) {
    await sleep(batchMs)
    while (outgoing.topics.size > 0) {
      const batch = [...outgoing.topics.values()]
      outgoing.topics = new Map()
      outgoing.bytes = 0
      if (await signals.sendNow(`node/${nodeId}`, LiveEventsForwarded, batch)) continue
      if (isStopped) break
      for (const { topic } of batch) queueOf(outgoing, topic).lost = true
      await sleep(pauseMs)
    }
    nodes.delete(nodeId)
  }

  function outgoingTo(nodeId: string): Outgoing {
    const existing = nodes.get(nodeId)
    if (existing) return existing
    const created: Outgoing = { topics: new Map(), bytes: 0, sending: Promise.resolve() }
    nodes.set(nodeId, created)
    created.sending = send(nodeId, created)
    return created
  }

  return {
    add(nodeId, topic, event) {
      const outgoing = outgoingTo(nodeId)
      const queued = queueOf(outgoing, topic)
      if (outgoing.bytes > queuedBytesMax) {
        queued.lost = true
        return
      }
      // `bytesOf` builds the text of the event, which is sent to the other node as JSON.
      outgoing.bytes += bytesOf(event)
      queued.events.push(event)
    },
    async stop() {
      isStopped = true
      const allSent = Promise.all([...nodes.values()].map(({ sending }) => sending))
      await Promise.race([allSent, sleep(nodes.size > 0 ? stopMs : 0)])
    },
  }
}
