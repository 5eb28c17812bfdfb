/** A bounded queue of the events for one stream. A reader that falls behind loses them and gets a `gap` event instead. */
import { monotonicMs } from '../../kernel/clock.ts'
import { bytesOf } from '../../kernel/live/forward.ts'
import type { LiveEvent } from '../../kernel/live/live.ts'
import type { Subscription } from './subscription.ts'

/** The event stream of a response (`kernel/http/event-stream.ts`). */
export interface Outlet {
  send(event: string, data: string, id?: string): boolean
  onDrain(listener: () => void): void
  onClose(listener: () => void): void
  end(reason: string): void
}

export interface Queue {
  readonly bytes: number
  /** True while the reader is behind. */
  readonly isBackedUp: boolean
  add(subscription: Subscription, event: LiveEvent): void
  /** Drops the queued events. Their subscriptions report a gap as soon as the reader has caught up. */
  drop(): void
  close(): void
}

interface Deps {
  outlet: Outlet
  /** Returns the id of the last event in a batch, or undefined if a stream that resumes with it would miss something. */
  position(): string | undefined
  /** Adds to the bytes that wait on all streams; negative once they are sent. */
  countQueued(bytes: number): void
  countSent(topic: string, events: number): void
}

/** Batches are at least this far apart. */
const intervalMs = 50
const eventBytes = 64 * 1024
/** Limit of the bytes that wait for one reader. */
export const queuedBytesMax = 4 * 1024 * 1024

export function createQueue({ outlet, position, countQueued, countSent }: Deps): Queue {
  let queues = new Map<Subscription, LiveEvent[]>()
  const lost = new Set<Subscription>()
  let [bytes, isBackedUp, isClosed] = [0, false, false]
  let timer: NodeJS.Timeout | undefined
  let sentAt = Number.NEGATIVE_INFINITY

  function count(change: number) {
    bytes += change
    countQueued(change)
  }

  function send(subscription: Subscription, events: LiveEvent[], id: string | undefined) {
    const items = events.map(({ text }) => text).join(',')
    const data = `{"subscription":${JSON.stringify(subscription.request.id)},"items":[${items}]}`
    isBackedUp = !outlet.send(subscription.topic.name, data, id)
    countSent(subscription.topic.name, events.length)
  }

  /** Takes events of about 64 KiB from the front of a list. */
  function take(events: LiveEvent[]): LiveEvent[] {
    let [length, size] = [0, 0]
    while (length < events.length && size < eventBytes) size += bytesOf(events[length++]!)
    count(-size)
    return events.splice(0, length)
  }

  function flush() {
    timer = undefined
    if (isClosed) return
    sentAt = monotonicMs()
    for (const [subscription, events] of queues) {
      while (events.length > 0 && !isBackedUp) {
        // The permissions may have changed since the event was queued.
        const batch = take(events).filter(subscription.includes)
        const isLast = events.length === 0 && queues.size === 1
        if (batch.length > 0) send(subscription, batch, isLast ? position() : undefined)
      }
      if (events.length > 0) return
      queues.delete(subscription)
    }
  }

  function schedule() {
    if (timer || isBackedUp || isClosed || queues.size === 0) return
    timer = setTimeout(flush, Math.max(0, sentAt + intervalMs - monotonicMs()))
  }

  function drop() {
    for (const subscription of queues.keys()) lost.add(subscription)
    queues = new Map()
    count(-bytes)
  }

  outlet.onDrain(() => {
    isBackedUp = false
    for (const subscription of lost) subscription.gap('too_slow')
    lost.clear()
    // A batch that was interrupted continues without a pause.
    if (queues.size > 0 && !timer) flush()
  })

  return {
    get bytes() {
      return bytes
    },
    get isBackedUp() {
      return isBackedUp
    },
    add(subscription, event) {
      if (isClosed) return
      if (lost.size > 0 && isBackedUp) {
        lost.add(subscription)
        return
      }
      const events = queues.get(subscription)
      if (events) events.push(event)
      else queues.set(subscription, [event])
      count(bytesOf(event))
      if (bytes > queuedBytesMax) drop()
      else schedule()
    },
    drop,
    close() {
      isClosed = true
      clearTimeout(timer)
      queues = new Map()
      count(-bytes)
    },
  }
}
