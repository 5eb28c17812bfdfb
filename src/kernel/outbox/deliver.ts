/**
 * Runs event handlers for a batch of waiting events. One transaction contains the handlers' work and the removal of the events from the
 * outbox.
 */
import { monotonicMs } from '../clock.ts'
import { type Db, isDatabaseUnavailable, type Sql } from '../db.ts'
import type { Log } from '../log.ts'
import { batchFailed, eventHandlerFailed } from './log-messages.ts'
import * as store from './store.ts'

export type EventHandler = (sql: Sql, payload: unknown) => Promise<void>

export interface Delivery {
  db: Db
  log: Log
  /** Called after the commit with events that were delivered. */
  delivered(subscription: string, events: store.WaitingEvent[]): void
  /** Called when a handler has failed. */
  countFailure(): void
  /** Called when an event waits for a retry, and the later events of its key with it. */
  postponed(subscription: string, event: store.WaitingEvent): void
  /** Called when a failed event is to be retried after this many seconds. */
  scheduleRetry(seconds: number): void
  /** Called when a head (the row of a key that has waiting events) has become due, to start another search for due heads. */
  searchAgain(): void
}

export interface Subscription {
  name: string
  handler: EventHandler
}

const keysPerBatch = 32
const eventsPerKey = 100
const eventsPerBatch = 200
/** After this time, the batch commits the events that are done, so that slow handlers do not hold locks for long. */
const batchMs = 200

/** The event whose handler failed. */
interface Failure {
  event: store.WaitingEvent
  /** True if the event is the oldest waiting event of its key. Only then is its next attempt delayed. */
  isOldest: boolean
  error: unknown
}

/** Delivers due events of keys without a failed event. Returns whether there may be more. */
export async function deliverFresh(delivery: Delivery, { name, handler }: Subscription): Promise<boolean> {
  let failure: Failure | undefined
  let current: Failure | undefined
  try {
    const { delivered, more } = await delivery.db.tx(async (sql) => {
      current = undefined
      const heads = await store.lockHeads(sql, name, keysPerBatch)
      if (heads.length === 0) return { delivered: [], more: false }
      const keys = heads.map(({ key }) => key)
      const events = await store.findWaiting(sql, name, keys, { perKey: eventsPerKey, all: eventsPerBatch })
      const began = monotonicMs()
      let done = 0
      for (const event of events) {
        if (monotonicMs() - began > batchMs) break
        current = { event, isOldest: events[done - 1]?.key !== event.key, error: undefined }
        await handler(sql, event.payload)
        done++
      }
      const { drained, partlyDelivered } = splitHeads(heads, events, done)
      const ids = events.slice(0, done).map(({ id }) => id)
      const refilled = await store.finish(sql, name, ids, drained, partlyDelivered)
      return {
        delivered: events.slice(0, done),
        more: heads.length === keysPerBatch || drained.length < heads.length || refilled > 0,
      }
    })
    if (delivered.length > 0) delivery.delivered(name, delivered)
    return more
  } catch (error) {
    if (isDatabaseUnavailable(error) || !current) throw error
    failure = { ...current, error }
  }
  await recordFailure(delivery, name, failure)
  return true
}

/** Separates two kinds of heads: heads whose events are all delivered, and heads with delivered and waiting events. */
function splitHeads(heads: store.Head[], events: store.WaitingEvent[], done: number) {
  const eventsByKey = Map.groupBy(events, ({ key }) => key)
  const begunKeys = new Set(events.slice(0, done).map(({ key }) => key))
  const undeliveredKeys = new Set(events.slice(done).map(({ key }) => key))
  // If the batch reached its maximum number of events, the last key and the keys after it may have more events.
  const isCut = events.length === eventsPerBatch
  const completeHeads = isCut ? heads.findIndex(({ key }) => key === events.at(-1)!.key) : heads.length
  const isDrained = ({ key }: store.Head, index: number) =>
    index < completeHeads && !undeliveredKeys.has(key) && (eventsByKey.get(key)?.length ?? 0) < eventsPerKey
  return {
    drained: heads.filter(isDrained),
    partlyDelivered: heads.filter((head, index) => begunKeys.has(head.key) && !isDrained(head, index)),
  }
}

/** Delivers one event of a key with a failed event. Returns whether there may be more. */
export async function deliverFailed(delivery: Delivery, { name, handler }: Subscription): Promise<boolean> {
  let current: store.WaitingEvent | undefined
  try {
    const found = await delivery.db.tx(async (sql) => {
      current = undefined
      const key = await store.lockFailedHead(sql, name)
      if (key === undefined) return false
      const [event] = await store.findWaiting(sql, name, [key], { perKey: 1, all: 1 })
      current = event
      if (event) await handler(sql, event.payload)
      await store.finishFailed(sql, name, key, event?.id)
      return true
    })
    if (current) delivery.delivered(name, [current])
    if (found) delivery.searchAgain()
    return found
  } catch (error) {
    if (isDatabaseUnavailable(error) || !current) throw error
    await recordFailure(delivery, name, { event: current, isOldest: true, error })
    return true
  }
}

async function recordFailure(delivery: Delivery, subscription: string, { event, isOldest, error }: Failure) {
  const { db, log } = delivery
  delivery.countFailure()
  const marked = await store.markFailed(db.sql, subscription, event, isOldest)
  if (!marked) return
  const { attempts, seconds } = marked
  if (isOldest) {
    delivery.scheduleRetry(seconds)
    delivery.postponed(subscription, event)
  } else delivery.searchAgain()
  const fields = { err: error, subscription, key: event.key, eventId: event.id, attempts, retryInSeconds: seconds }
  if (isOldest) eventHandlerFailed(log, fields)
  else batchFailed(log, fields)
}
