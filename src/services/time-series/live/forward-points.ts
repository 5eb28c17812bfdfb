/** Forwards points to the nodes that watch them. Points within 50 ms are sent as one signal. Each node gets one signal at a time. */
import { sleep } from '../../../kernel/clock.ts'
import type { Signals } from '../../../kernel/signals.ts'
import { bytesOf, type LivePoint } from './live-point.ts'
import { LivePointsStored, type StoredPoints } from './signals.ts'

interface Application {
  tenantId: string
  applicationName: string
}

export interface ForwardPoints {
  add(nodeIds: string[], application: Application, points: LivePoint[]): void
  /** Sends the queued points; gives up after one second. */
  stop(): Promise<void>
}

const batchMs = 50
/** Pause after a signal that could not be sent. */
const pauseMs = 500
const stopMs = 1000
/** Maximum size of the queue for one node. Further points are dropped, and streams on that node send a `gap` event. */
const queuedBytesMax = 8 * 1024 * 1024

interface Outgoing {
  applications: Map<string, StoredPoints>
  bytes: number
  sending: Promise<void>
}

export function createForwardPoints(signals: Pick<Signals, 'sendNow'>): ForwardPoints {
  const nodes = new Map<string, Outgoing>()
  let isStopped = false

  function applicationOf(outgoing: Outgoing, { tenantId, applicationName }: Application): StoredPoints {
    const queued = outgoing.applications.get(applicationName)
    if (queued) return queued
    const created: StoredPoints = { tenantId, applicationName, points: [] }
    outgoing.applications.set(applicationName, created)
    return created
  }

  async function send(nodeId: string, outgoing: Outgoing) {
    await sleep(batchMs)
    while (outgoing.applications.size > 0) {
      const stored = [...outgoing.applications.values()]
      outgoing.applications = new Map()
      outgoing.bytes = 0
      if (await signals.sendNow(`node/${nodeId}`, LivePointsStored, stored)) continue
      if (isStopped) break
      for (const application of stored) applicationOf(outgoing, application).lost = true
      await sleep(pauseMs)
    }
    nodes.delete(nodeId)
  }

  function outgoingTo(nodeId: string): Outgoing {
    const existing = nodes.get(nodeId)
    if (existing) return existing
    const created: Outgoing = { applications: new Map(), bytes: 0, sending: Promise.resolve() }
    nodes.set(nodeId, created)
    created.sending = send(nodeId, created)
    return created
  }

  return {
    add(nodeIds, application, points) {
      for (const nodeId of nodeIds) {
        const outgoing = outgoingTo(nodeId)
        const queued = applicationOf(outgoing, application)
        for (const point of points)
          if (outgoing.bytes > queuedBytesMax) queued.lost = true
          else {
            queued.points.push(point)
            outgoing.bytes += bytesOf(point)
          }
      }
    },
    async stop() {
      isStopped = true
      const allSent = Promise.all([...nodes.values()].map(({ sending }) => sending))
      await Promise.race([allSent, sleep(nodes.size > 0 ? stopMs : 0)])
    },
  }
}
