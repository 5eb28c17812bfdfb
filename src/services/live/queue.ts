/** A bounded queue of the events for one stream. A reader that falls behind loses them and gets a `gap` event instead. */
import { monotonicMs } from '../../kernel/clock.ts'
import type { StreamMessage } from '../../kernel/http/event-stream.ts'
import { bytesOf } from '../../kernel/live/forward.ts'
import type { LiveEvent } from '../../kernel/live/live.ts'
import type { Pace } from './pace.ts'
import type { Subscription } from './subscription.ts'

/** The event stream of a response (`kernel/http/event-stream.ts`). */
export interface Outlet {
  send(event: string, data: string, id?: string): boolean
  sendAll(messages: StreamMessage[]): boolean
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

/** The events of one subscription that wait. */
interface Waiting {
  events: LiveEvent[]
  /** The admission with which all of them were checked; undefined if they were checked with different ones. */
  admission: object | undefined
}

interface Deps {
  outlet: Outlet
  pace: Pace
  /** Returns the id of the last event in a batch, or undefined if a stream that resumes with it would miss something. */
  position(): string | undefined
  /** Adds to the bytes that wait on all streams; negative once they are sent. */
  countQueued(bytes: number): void
  countSent(topic: string, events: number): void
}

const eventBytes = 64 * 1024
/** Limit of the bytes that wait for one reader. */
export const queuedBytesMax = 4 * 1024 * 1024

export function createQueue({ outlet, pace, position, countQueued, countSent }: Deps): Queue {
  let queues = new Map<Subscription, Waiting>()
  const lost = new Set<Subscription>()
  let [bytes, isBackedUp, isClosed] = [0, false, false]
  let timer: NodeJS.Timeout | undefined
  let sentAt = Number.NEGATIVE_INFINITY

  function count(change: number) {
    bytes += change
    countQueued(change)
  }

  function messageOf(subscription: Subscription, events: LiveEvent[], id: string | undefined): StreamMessage {
    const items = events.length === 1 ? events[0]!.text : events.map(({ text }) => text).join(',')
    const data = `{"subscription":${JSON.stringify(subscription.request.id)},"items":[${items}]}`
    countSent(subscription.topic.name, events.length)
    return { event: subscription.topic.name, data, id }
  }

  /** Takes events of about 64 KiB from the front of a list. */
  function take(events: LiveEvent[]): { events: LiveEvent[]; bytes: number } {
    let [length, size] = [0, 0]
    while (length < events.length && size < eventBytes) size += bytesOf(events[length++]!)
    count(-size)
    return { events: events.splice(0, length), bytes: size }
  }

  /** Takes the next messages of about 64 KiB together. Returns none if nothing waits. */
  function takeMessages(): StreamMessage[] {
    const messages: StreamMessage[] = []
    let size = 0
    for (const [subscription, waiting] of queues) {
      const { events } = waiting
      while (events.length > 0 && size < eventBytes) {
        const batch = take(events)
        size += batch.bytes
        // The permissions may have changed since the event was queued.
        const isChecked = waiting.admission !== undefined && waiting.admission === subscription.admission
        const sent = isChecked ? batch.events : batch.events.filter(subscription.includes)
        const isLast = events.length === 0 && queues.size === 1
        if (sent.length > 0) messages.push(messageOf(subscription, sent, isLast ? position() : undefined))
      }
      if (events.length > 0) return messages
      queues.delete(subscription)
    }
    return messages
  }

  function flush() {
    endTimer()
    if (isClosed) return
    sentAt = monotonicMs()
    while (queues.size > 0 && !isBackedUp) {
      const messages = takeMessages()
      if (messages.length > 0) isBackedUp = !outlet.sendAll(messages)
    }
  }

  function schedule() {
    if (timer || isBackedUp || isClosed || queues.size === 0) return
    pace.waiting++
    timer = setTimeout(flush, Math.max(0, sentAt + pace.intervalMs() - monotonicMs()))
  }

  function endTimer() {
    if (!timer) return
    clearTimeout(timer)
    timer = undefined
    pace.waiting--
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
      const { admission } = subscription
      const waiting = queues.get(subscription)
      if (!waiting) queues.set(subscription, { events: [event], admission })
      else {
        waiting.events.push(event)
        if (waiting.admission !== admission) waiting.admission = undefined
      }
      count(bytesOf(event))
      if (bytes > queuedBytesMax) drop()
      else schedule()
    },
    drop,
    close() {
      isClosed = true
      endTimer()
      queues = new Map()
      count(-bytes)
    },
  }
}
