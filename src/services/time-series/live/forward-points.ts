/** Sends points to the nodes that watch them: what was stored within a few milliseconds as one message, one at a time for a node. */
import { sleep } from '../../../kernel/clock.ts'
import type { Signals } from '../../../kernel/signals.ts'
import { bytesOf, type LivePoint } from './live-point.ts'
import { LivePointsStored, type StoredPoints } from './signals.ts'

interface Application {
  tenantId: string
  applicationName: string
}

export interface ForwardPoints {
  add(nodeIds: string[], of: Application, points: LivePoint[]): void
  /** Sends what waits, for at most a second. */
  stop(): Promise<void>
}

const togetherMs = 50
/** After a message that could not be sent. */
const pauseMs = 500
const stopMs = 1000
/** What waits for one node; more is dropped, and its watchers are told. */
const waitingBytesMax = 8 * 1024 * 1024

interface Outgoing {
  applications: Map<string, StoredPoints>
  bytes: number
  sending: Promise<void>
}

export function createForwardPoints(signals: Pick<Signals, 'sendNow'>): ForwardPoints {
  const nodes = new Map<string, Outgoing>()
  let isStopped = false

  function applicationOf(outgoing: Outgoing, { tenantId, applicationName }: Application): StoredPoints {
    const known = outgoing.applications.get(applicationName)
    if (known) return known
    const made: StoredPoints = { tenantId, applicationName, points: [] }
    outgoing.applications.set(applicationName, made)
    return made
  }

  async function send(nodeId: string, outgoing: Outgoing) {
    await sleep(togetherMs)
    while (outgoing.applications.size > 0) {
      const stored = [...outgoing.applications.values()]
      outgoing.applications = new Map()
      outgoing.bytes = 0
      if (await signals.sendNow(`node/${nodeId}`, LivePointsStored, stored)) continue
      if (isStopped) break
      for (const of of stored) applicationOf(outgoing, of).lost = true
      await sleep(pauseMs)
    }
    nodes.delete(nodeId)
  }

  function outgoingTo(nodeId: string): Outgoing {
    const known = nodes.get(nodeId)
    if (known) return known
    const made: Outgoing = { applications: new Map(), bytes: 0, sending: Promise.resolve() }
    nodes.set(nodeId, made)
    made.sending = send(nodeId, made)
    return made
  }

  return {
    add(nodeIds, of, points) {
      for (const nodeId of nodeIds) {
        const outgoing = outgoingTo(nodeId)
        const own = applicationOf(outgoing, of)
        for (const point of points)
          if (outgoing.bytes > waitingBytesMax) own.lost = true
          else {
            own.points.push(point)
            outgoing.bytes += bytesOf(point)
          }
      }
    },
    async stop() {
      isStopped = true
      const all = Promise.all([...nodes.values()].map(({ sending }) => sending))
      await Promise.race([all, sleep(nodes.size > 0 ? stopMs : 0)])
    },
  }
}
