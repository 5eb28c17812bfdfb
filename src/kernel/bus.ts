/**
 * Events. `publish` stores them in the transaction of the change. `handle` registers a durable handler, which runs at least once and in
 * order per key (outbox.ts). `record` is for frequent events that their receiver stores itself. `subscribe` and `onReset` are for caches,
 * on every node.
 */
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { EventHandler } from './outbox/deliver.ts'
import { createOutbox } from './outbox.ts'
import { defineSignal, type Signals } from './signals.ts'

export interface EventType<P> {
  name: string
  description: string
  key(payload: P): string
  /** True if payloads are too large for signals between nodes. Subscribed functions then run on the publishing node only. */
  bulky: boolean
}

/** All declared events, for the generated reference. */
export const eventCatalogue = new Map<string, { name: string; description: string }>()

/** Declares an event. Its payload contains the tenant. Events with the same key (default: the tenant) are delivered in order. */
export function defineEvent<P extends { tenantId: string }>(
  name: string,
  options: { description: string; key?: (payload: P) => string; bulky?: boolean },
): EventType<P> {
  if (eventCatalogue.has(name)) throw new Error(`event ${name} is declared twice`)
  const { description, key = ({ tenantId }: P) => tenantId, bulky = false } = options
  const event = { name, description, key, bulky }
  eventCatalogue.set(name, event)
  return event
}

/** Approximate maximum size of a list in one event. */
const partBytesMax = 6000

/**
 * Splits a long list into parts of moderate size, one for each event. This limits the work of a handler in its transaction. `toJson`
 * returns the part of an item that the event will contain; by default the whole item.
 */
export function* splitForEvents<T>(items: Iterable<T>, toJson: (item: T) => unknown = (item) => item): Generator<T[]> {
  let part: T[] = []
  let bytes = 0
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(toJson(item))) + 1
    if (part.length > 0 && bytes + size > partBytesMax) {
      yield part
      part = []
      bytes = 0
    }
    part.push(item)
    bytes += size
  }
  if (part.length > 0) yield part
}

export interface PublishOptions {
  /** Calls the subscribed functions on this node only. This is for frequent events of single devices. Durable handlers are not affected. */
  thisNodeOnly?: boolean
}

/** The origin of an event. Fields that are unknown to the publisher are absent. */
export interface EventOrigin {
  tenantId: string
  applicationName?: string | undefined
  versionName?: string | undefined
  endpointId?: string | undefined
}

/** A receiver that stores events itself, in the transaction of their publisher. */
export interface Recorder<P> {
  /**
   * Returns whether events of this origin are recorded. It is called for every event, before the payload is built. In case of doubt it must
   * return true, so that no event is lost.
   */
  wants(origin: EventOrigin): boolean
  /** Called with the wanted events, in the transaction that publishes them. */
  record(sql: Sql, payloads: P[]): Promise<void>
}

export interface Bus {
  publish<P>(sql: Sql, event: EventType<P>, payload: P): Promise<void>
  /** Publishes several events. Two statements are enough for any number of events. */
  publishAll<P>(sql: Sql, event: EventType<P>, payloads: P[], options?: PublishOptions): Promise<void>
  /** Registers a function that is called on every node after the commit; used to invalidate caches. */
  subscribe<P>(event: EventType<P>, listener: (payload: P) => void): void
  /** Registers a function that is called when events may have been lost. */
  onReset(listener: () => void): void
  /** Returns whether there are subscribers. A publisher can call it before it builds an expensive event. */
  hasSubscribers<P>(event: EventType<P>): boolean
  /**
   * Returns whether any receiver would handle events of this origin. A publisher can call it before it builds a frequent and expensive
   * event.
   */
  isWanted<P>(event: EventType<P>, origin: EventOrigin): boolean
  /** Registers a receiver that stores events itself. */
  record<P extends EventOrigin>(event: EventType<P>, recorder: Recorder<P>): void
  /** Registers a durable handler; `subscription` is its unique name, such as `register.delete-filters`. */
  handle<P>(subscription: string, event: EventType<P>, handler: (sql: Sql, payload: P) => Promise<void>): void
  /**
   * Resolves when the durable handlers have handled all committed events of this type and key. Does not wait for the retry of a handler
   * that has failed, and resolves at the latest after two seconds. If an operation awaits this before it responds, its caller can then read
   * the effects in all services.
   */
  delivered<P>(event: EventType<P>, key: string): Promise<void>
  /** Starts the bus. With `workers`, this process delivers events to durable handlers. */
  start(options: { workers: boolean }): Promise<void>
  stop(): Promise<void>
  /** Resolves when no event is due, for tests and a clean shutdown. */
  settled(): Promise<void>
}

/** Limit of `delivered`. An operation is complete without its effects in other services, so a busy queue must not delay it for long. */
const deliveredMs = 2000

/** Delivers published events to the subscribed functions of all nodes. */
const Published = defineSignal<{ event: string; payloads: unknown[] }>('kernel.event')

export function createBus(deps: {
  db: Db
  signals: Signals
  nodeId: string
  log: Log
  metrics: Metrics
  /** Maximum number of concurrent transactions with durable handlers. The other database connections stay free for requests. */
  workers: number
}): Bus {
  const { signals } = deps
  const outbox = createOutbox(deps)
  const listeners = new Map<string, ((payload: never) => void)[]>()
  const subscriptions = new Map<string, string[]>()
  const recorders = new Map<string, Recorder<EventOrigin>[]>()

  signals.on(Published, ({ event, payloads }) => {
    for (const payload of payloads) for (const listener of listeners.get(event) ?? []) listener(payload as never)
  })

  async function publishAll<P>(sql: Sql, event: EventType<P>, payloads: P[], options: PublishOptions = {}) {
    if (payloads.length === 0) return
    const subscriptionNames = subscriptions.get(event.name) ?? []
    if (subscriptionNames.length > 0) {
      const rows = payloads.map((payload) => ({ key: event.key(payload), payload: JSON.stringify(payload) }))
      await outbox.insert(sql, subscriptionNames, event.name, rows)
    }
    for (const { wants, record } of recorders.get(event.name) ?? []) {
      const wantedPayloads = (payloads as unknown as EventOrigin[]).filter(wants)
      if (wantedPayloads.length > 0) await record(sql, wantedPayloads)
    }
    if (listeners.has(event.name)) {
      const to = event.bulky || options.thisNodeOnly ? (`node/${deps.nodeId}` as const) : 'all'
      await signals.send(sql, to, Published, { event: event.name, payloads })
    }
  }

  return {
    publish: (sql, event, payload) => publishAll(sql, event, [payload]),
    publishAll,
    subscribe(event, listener) {
      listeners.set(event.name, [...(listeners.get(event.name) ?? []), listener])
    },
    onReset: signals.onReset,
    hasSubscribers: ({ name }) => listeners.has(name) || subscriptions.has(name) || recorders.has(name),
    isWanted: ({ name }, origin) =>
      listeners.has(name) ||
      subscriptions.has(name) ||
      (recorders.get(name)?.some(({ wants }) => wants(origin)) ?? false),
    record(event, recorder) {
      recorders.set(event.name, [...(recorders.get(event.name) ?? []), recorder as unknown as Recorder<EventOrigin>])
    },
    handle(subscription, event, handler) {
      outbox.add(subscription, handler as EventHandler)
      subscriptions.set(event.name, [...(subscriptions.get(event.name) ?? []), subscription])
    },
    delivered: async (event, key) => {
      const subscriptionNames = subscriptions.get(event.name)
      if (subscriptionNames) await outbox.delivered(subscriptionNames, key, deliveredMs)
    },
    async start({ workers }) {
      await signals.start()
      if (workers) outbox.start()
    },
    async stop() {
      await outbox.stop()
      await signals.stop()
    },
    settled: outbox.settled,
  }
}
