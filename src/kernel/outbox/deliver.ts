/** Runs event handlers for a batch of waiting events, in one transaction with their removal from the outbox. */
import { monotonicMs } from '../clock.ts'
import { type Db, isConnectionFailure, type Sql } from '../db.ts'
import type { Log } from '../log.ts'
import { batchFailed, eventHandlerFailed } from './log-messages.ts'
import * as store from './store.ts'

export type EventHandler = (sql: Sql, payload: unknown) => Promise<void>

export interface Delivery {
  db: Db
  log: Log
  counted(outcome: 'success' | 'failure', events: number): void
  /** Called when a failed event is to be retried after this many seconds. */
  retryIn(seconds: number): void
  /** Called when a head has become due: search again for subscriptions with due heads. */
  searchAgain(): void
}

export interface Subscription {
  name: string
  handler: EventHandler
}

const keysPerBatch = 32
const perKey = 100
const eventsPerBatch = 200
/** After this time the batch commits what it has done, so that slow handlers do not hold locks for long. */
const batchMs = 200

/** The event whose handler failed. */
interface Failure {
  event: store.Waiting
  isOldest: boolean
  error: unknown
}

/** Delivers due events of keys that have not failed. Returns whether there may be more. */
export async function deliverFresh(delivery: Delivery, { name, handler }: Subscription): Promise<boolean> {
  let failure: Failure | undefined
  let running: Failure | undefined
  try {
    const { delivered, more } = await delivery.db.tx(async (sql) => {
      running = undefined
      const heads = await store.lockHeads(sql, name, keysPerBatch)
      if (heads.length === 0) return { delivered: 0, more: false }
      const keys = heads.map(({ key }) => key)
      const events = await store.findWaiting(sql, name, keys, { perKey, all: eventsPerBatch })
      const began = monotonicMs()
      let done = 0
      for (const event of events) {
        if (monotonicMs() - began > batchMs) break
        running = { event, isOldest: events[done - 1]?.key !== event.key, error: undefined }
        await handler(sql, event.payload)
        done++
      }
      const { drained, begun } = remaining(heads, events, done)
      const ids = events.slice(0, done).map(({ id }) => id)
      const refilled = await store.finish(sql, name, ids, drained, begun)
      return { delivered: done, more: heads.length === keysPerBatch || drained.length < heads.length || refilled > 0 }
    })
    if (delivered > 0) delivery.counted('success', delivered)
    return more
  } catch (error) {
    if (isConnectionFailure(error) || !running) throw error
    failure = { ...running, error }
  }
  await fail(delivery, name, failure)
  return true
}

/** Splits the heads into those whose events are all delivered, and those with some events delivered and some left. */
function remaining(heads: store.Head[], events: store.Waiting[], done: number) {
  const found = Map.groupBy(events, ({ key }) => key)
  const begun = new Set(events.slice(0, done).map(({ key }) => key))
  const left = new Set(events.slice(done).map(({ key }) => key))
  // At the limit of events, the last key and those after it may have more.
  const isCut = events.length === eventsPerBatch
  const known = isCut ? heads.findIndex(({ key }) => key === events.at(-1)!.key) : heads.length
  const isDrained = ({ key }: store.Head, index: number) =>
    index < known && !left.has(key) && (found.get(key)?.length ?? 0) < perKey
  return {
    drained: heads.filter(isDrained),
    begun: heads.filter((head, index) => begun.has(head.key) && !isDrained(head, index)),
  }
}

/** Delivers one event of one key that has failed. Returns whether there may be more. */
export async function deliverFailed(delivery: Delivery, { name, handler }: Subscription): Promise<boolean> {
  let running: store.Waiting | undefined
  try {
    const found = await delivery.db.tx(async (sql) => {
      running = undefined
      const key = await store.lockFailedHead(sql, name)
      if (key === undefined) return false
      const [event] = await store.findWaiting(sql, name, [key], { perKey: 1, all: 1 })
      running = event
      if (event) await handler(sql, event.payload)
      await store.finishFailed(sql, name, key, event?.id)
      return true
    })
    if (running) delivery.counted('success', 1)
    if (found) delivery.searchAgain()
    return found
  } catch (error) {
    if (isConnectionFailure(error) || !running) throw error
    await fail(delivery, name, { event: running, isOldest: true, error })
    return true
  }
}

async function fail(delivery: Delivery, subscription: string, { event, isOldest, error }: Failure) {
  const { db, log, counted } = delivery
  counted('failure', 1)
  const marked = await store.markFailed(db.sql, subscription, event, isOldest)
  if (!marked) return
  const { attempts, seconds } = marked
  if (isOldest) delivery.retryIn(seconds)
  else delivery.searchAgain()
  const fields = { err: error, subscription, key: event.key, eventId: event.id, attempts, retryInSeconds: seconds }
  if (isOldest) eventHandlerFailed(log, fields)
  else batchFailed(log, fields)
}
