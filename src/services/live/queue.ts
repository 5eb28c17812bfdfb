/** A bounded queue of the events for one stream. If the client reads too slowly, it loses events and gets a `gap` event instead. */
import { monotonicMs } from '../../kernel/clock.ts'
import type { StreamMessage } from '../../kernel/http/event-stream.ts'
import { bytesOf } from '../../kernel/live/forward.ts'
import { type LiveEvent, textOf } from '../../kernel/live/live.ts'
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
  /** True while the client reads too slowly. */
  readonly isBackedUp: boolean
  add(subscription: Subscription, event: LiveEvent): void
  /** Drops the queued events. Their subscriptions report a gap as soon as the client has caught up. */
  drop(): void
  close(): void
}

/** The waiting events of one subscription. */
interface Waiting {
  events: LiveEvent[]
  /** The permissions with which all these events were checked; undefined if they were checked with different permissions. */
  admission: object | undefined
}

interface Deps {
  outlet: Outlet
  pace: Pace
  /** Returns the id for the last message of a batch. Returns undefined if a stream that resumes with this id would miss an event. */
  position(): string | undefined
  /** Adds to the number of bytes that wait on all streams. Negative numbers subtract bytes that no longer wait. */
  countQueued(bytes: number): void
  countSent(topic: string, events: number): void
}

const eventBytes = 64 * 1024
const newestBytes = 1024
/** Maximum number of bytes that wait for one client. */
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

  function flush() {
    endTimer()
    if (isClosed) return
    sentAt = monotonicMs()
    while (queues.size > 0 && !isBackedUp) {
      const { messages, taken } = takeMessages(queues, position, countSent)
      count(-taken)
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
      else if (subscription.request.newestOnly) {
        waiting.events[0] = event
        waiting.admission = admission
        return
      } else {
        waiting.events.push(event)
        if (waiting.admission !== admission) waiting.admission = undefined
      }
      count(sizeOf(subscription, event))
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

/** Takes the next messages, about 64 KiB together. */
function takeMessages(
  queues: Map<Subscription, Waiting>,
  position: Deps['position'],
  countSent: Deps['countSent'],
): { messages: StreamMessage[]; taken: number } {
  const messages: StreamMessage[] = []
  let taken = 0
  for (const [subscription, waiting] of queues) {
    while (waiting.events.length > 0 && taken < eventBytes) {
      const batch = take(subscription, waiting.events)
      taken += batch.bytes
      const events = permitted(subscription, waiting.admission, batch.events)
      if (events.length === 0) continue
      const isLast = waiting.events.length === 0 && queues.size === 1
      messages.push(messageOf(subscription, events, isLast ? position() : undefined))
      countSent(subscription.topic.name, events.length)
    }
    if (waiting.events.length > 0) break
    queues.delete(subscription)
  }
  return { messages, taken }
}

function messageOf({ request, topic }: Subscription, events: LiveEvent[], id: string | undefined): StreamMessage {
  const items = events.length === 1 ? textOf(events[0]!) : events.map(textOf).join(',')
  return { event: topic.name, data: `{"subscription":${JSON.stringify(request.id)},"items":[${items}]}`, id }
}

/**
 * Estimates the memory of an event in the queue. For a subscription that keeps only the newest event, the estimate is the same for all
 * events, because the text of an event that is replaced is never built.
 */
const sizeOf = ({ request }: Subscription, event: LiveEvent) => (request.newestOnly ? newestBytes : bytesOf(event))

/** Takes events of about 64 KiB from the front of a list. */
function take(subscription: Subscription, events: LiveEvent[]): { events: LiveEvent[]; bytes: number } {
  let [length, bytes] = [0, 0]
  while (length < events.length && bytes < eventBytes) bytes += sizeOf(subscription, events[length++]!)
  return { events: events.splice(0, length), bytes }
}

/** Returns the events that the caller may read. Events that were checked with the current permissions need no second check. */
const permitted = (subscription: Subscription, checkedWith: object | undefined, events: LiveEvent[]) =>
  checkedWith !== undefined && checkedWith === subscription.admission ? events : events.filter(subscription.includes)
