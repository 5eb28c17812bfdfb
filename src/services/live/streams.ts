/** The streams that are open on this node, and the memory of events that wait for clients. */
import type { Caller } from '../../kernel/contract.ts'
import type { Metrics } from '../../kernel/metrics.ts'
import type { Stream } from './stream.ts'

export interface OpenStream {
  stream: Stream
  tenantId: string
  /** Type and id of the caller. */
  subject: string
  callerNow(): Promise<Caller>
  caller: Caller
  /** Number of permissions that the caller had at the last check. */
  permissions: number
}

export interface Streams {
  readonly count: number
  all(): Iterable<OpenStream>
  find(streamId: string): OpenStream | undefined
  ofTenant(tenantId: string): number
  ofCaller(tenantId: string, subject: string): number
  add(stream: OpenStream): void
  remove(stream: OpenStream): void
  /** Adds to the number of bytes that wait on all streams. Negative numbers subtract bytes that no longer wait. */
  countQueued(bytes: number): void
}

/** Maximum size of all queues together. Above it, the slowest client loses its events and gets a `gap` event instead. */
const queuedBytesMax = 64 * 1024 * 1024

export function createStreams(metrics: Metrics): Streams {
  const streams = new Map<string, OpenStream>()
  const counts = new Map<string, number>()
  let queuedBytes = 0
  metrics.gauge('waypost_live_streams', 'Number of open live streams with topics on this node.', [], (gauge) =>
    gauge.set(streams.size),
  )
  metrics.gauge(
    'waypost_live_subscriptions',
    'Number of subscriptions of live streams on this node, by topic.',
    ['topic'],
    (gauge) => {
      gauge.reset()
      for (const { stream } of streams.values())
        for (const { topic } of stream.subscriptions.values()) gauge.inc({ topic: topic.name })
    },
  )

  function count(key: string, change: number) {
    const total = (counts.get(key) ?? 0) + change
    if (total === 0) counts.delete(key)
    else counts.set(key, total)
  }
  const callerKey = (tenantId: string, subject: string) => `${tenantId}\n${subject}`

  return {
    get count() {
      return streams.size
    },
    all: () => streams.values(),
    find: (streamId) => streams.get(streamId),
    ofTenant: (tenantId) => counts.get(tenantId) ?? 0,
    ofCaller: (tenantId, subject) => counts.get(callerKey(tenantId, subject)) ?? 0,
    add(open) {
      streams.set(open.stream.streamId, open)
      count(open.tenantId, 1)
      count(callerKey(open.tenantId, open.subject), 1)
    },
    remove(open) {
      if (!streams.delete(open.stream.streamId)) return
      count(open.tenantId, -1)
      count(callerKey(open.tenantId, open.subject), -1)
    },
    countQueued(bytes) {
      queuedBytes += bytes
      while (queuedBytes > queuedBytesMax) {
        const slowest = slowestOf(streams.values())
        if (!slowest) return
        slowest.dropQueued()
      }
    },
  }
}

function slowestOf(streams: Iterable<OpenStream>): Stream | undefined {
  let slowest: Stream | undefined
  for (const { stream } of streams) if (stream.queuedBytes > (slowest?.queuedBytes ?? 0)) slowest = stream
  return slowest
}
