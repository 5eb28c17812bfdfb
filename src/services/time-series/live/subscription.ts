/** One live stream: which points it includes, and the queue of points to be sent. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import { holds } from '../../../kernel/permissions.ts'
import { endpointResource } from '../../register/contract.ts'
import { readScopes } from '../read/visible-series.ts'
import { bytesOf, type LivePoint, textOf } from './live-point.ts'

/** The event stream of a response (`kernel/http/event-stream.ts`). */
export interface Outlet {
  send(event: string, data: string, id?: string): boolean
  onDrain(listener: () => void): void
  onClose(listener: () => void): void
  end(reason: string): void
}

export interface Watched {
  tenantId: string
  applicationName: string
  /** The endpoints to include. Undefined means all endpoints that the caller may read. */
  endpointIds: ReadonlySet<string> | undefined
  seriesNames: ReadonlySet<string> | undefined
}

export interface Subscription extends Watched {
  readonly queuedBytes: number
  /** Returns true if the stream includes the endpoint and its caller may read it. */
  isVisible(endpointId: string): boolean
  add(point: LivePoint): void
  /** Sends `open` with the first event id, then `first`, then the points that were added so far. */
  start(since: number, first: LivePoint[]): void
  /** Sends a `gap` event. The event means that points may be missing and that the caller must read them with a query. */
  gap(reason: 'missed' | 'too_old' | 'too_many'): void
  /** Replaces the caller. Permissions are then checked again. */
  setCaller(caller: Caller): void
  end(reason: string): void
}

/** Minimum time between two events. Points that are stored in between are sent in one event. */
const intervalMs = 50
const eventBytes = 64 * 1024
/** Maximum size of the queue. If the client reads so slowly that the queue exceeds it, the stream ends with `too_slow`. */
export const queuedBytesMax = 4 * 1024 * 1024
const cachedPermissionsMax = 10_000

export function createSubscription(
  ctx: Ctx,
  watched: Watched,
  outlet: Outlet,
  onQueued: (bytes: number) => void,
): Subscription {
  const { tenantId, applicationName, endpointIds, seriesNames } = watched
  let { caller } = ctx
  const readable = new Map<string, boolean>()
  let queue: LivePoint[] = []
  let [bytes, isStarting, isBackedUp, isEnded] = [0, true, false, false]
  let timer: NodeJS.Timeout | undefined
  let sentAt = Number.NEGATIVE_INFINITY
  /** The greatest number in the order of writes among the points that were sent. */
  let lastSent = 0

  function addQueuedBytes(change: number) {
    bytes += change
    onQueued(change)
  }

  function flush() {
    timer = undefined
    if (isStarting || isEnded) return
    sentAt = monotonicMs()
    let from = 0
    while (from < queue.length && !isBackedUp) {
      let [to, size] = [from, 0]
      while (to < queue.length && size < eventBytes) size += bytesOf(queue[to++]!)
      const batch = queue.slice(from, to)
      addQueuedBytes(-size)
      from = to
      // The permissions may have changed since the point was queued.
      const points = batch.filter(({ endpointId }) => subscription.isVisible(endpointId))
      for (const { written } of points) lastSent = Math.max(lastSent, written)
      if (points.length > 0) isBackedUp = !outlet.send('points', textOf(points), String(lastSent))
    }
    queue = queue.slice(from)
  }

  function schedule() {
    if (timer || isStarting || isBackedUp || isEnded || queue.length === 0) return
    timer = setTimeout(flush, Math.max(0, sentAt + intervalMs - monotonicMs()))
  }

  const subscription: Subscription = {
    ...watched,
    get queuedBytes() {
      return bytes
    },
    isVisible(endpointId) {
      if (endpointIds && !endpointIds.has(endpointId)) return false
      let isReadable = readable.get(endpointId)
      if (isReadable === undefined) {
        const resource = endpointResource({ tenantId, applicationName, endpointId })
        isReadable = readScopes.every((scope) => holds(caller, scope, resource))
        if (readable.size >= cachedPermissionsMax) readable.clear()
        readable.set(endpointId, isReadable)
      }
      return isReadable
    },
    add(point) {
      if (isEnded || (seriesNames && !seriesNames.has(point.seriesName))) return
      queue.push(point)
      addQueuedBytes(bytesOf(point))
      if (bytes > queuedBytesMax) outlet.end('too_slow')
      else schedule()
    },
    start(since, first) {
      lastSent = since
      outlet.send('open', '{}', String(lastSent))
      const included = seriesNames ? first.filter(({ seriesName }) => seriesNames.has(seriesName)) : first
      for (const point of included) addQueuedBytes(bytesOf(point))
      queue = [...included, ...queue]
      isStarting = false
      schedule()
    },
    gap(reason) {
      if (!isEnded) outlet.send('gap', JSON.stringify({ reason }))
    },
    setCaller(newCaller) {
      caller = newCaller
      readable.clear()
    },
    end: (reason) => outlet.end(reason),
  }

  outlet.onDrain(() => {
    isBackedUp = false
    schedule()
  })
  outlet.onClose(() => {
    isEnded = true
    clearTimeout(timer)
    addQueuedBytes(-bytes)
    queue = []
  })
  return subscription
}
