/**
 * Events. `publish` writes into the outbox in the transaction of the change that it tells; a durable
 * reaction runs at least once and in order for each key, in a transaction that also deletes its outbox row. `hear`
 * is for caches: every process is called after the commit, and `onGap` when something may have been missed.
 */
import { monotonicMs } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { defineSignal, type Signals } from './signals.ts'

export interface EventType<P> {
  name: string
  description: string
  key(payload: P): string
  /** Too much for messages between nodes: `hear` is called on the publishing node only. */
  bulky: boolean
}

/** Every declared event, for the generated reference. */
export const eventCatalogue = new Map<string, { name: string; description: string }>()

/** Payloads carry the tenant; the key (default: the tenant) is what keeps its order. */
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

/** About the greatest size of a list in one event. */
const listBytes = 6000

/** Cuts a long list into events of moderate size, so that a reaction does a bounded amount of work in its transaction. */
export function* inParts<T>(items: Iterable<T>): Generator<T[]> {
  let part: T[] = []
  let bytes = 0
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1
    if (part.length > 0 && bytes + size > listBytes) {
      yield part
      part = []
      bytes = 0
    }
    part.push(item)
    bytes += size
  }
  if (part.length > 0) yield part
}

export interface Bus {
  publish<P>(sql: Sql, event: EventType<P>, payload: P): Promise<void>
  /**
   * Several events in two statements, whatever their number.
   */
  publishAll<P>(sql: Sql, event: EventType<P>, payloads: P[]): Promise<void>
  hear<P>(event: EventType<P>, listener: (payload: P) => void): void
  onGap(listener: () => void): void
  /** Whether anybody would be told: for events that cost something to put together. */
  isHeard<P>(event: EventType<P>): boolean
  react<P>(subscription: string, event: EventType<P>, reaction: (sql: Sql, payload: P) => Promise<void>): void
  /** `workers`: whether this process delivers to durable reactions. */
  start(options: { workers: boolean }): Promise<void>
  stop(): Promise<void>
  /** Resolves when nothing that is due waits: for tests and for a clean stop. */
  settled(): Promise<void>
}

type Reaction = (sql: Sql, payload: unknown) => Promise<void>
interface Head {
  id: number
  subscription: string
  key: string
}

const pollMs = 1000
const parallel = 8
const backoffSeconds = (attempts: number) => Math.min(300, 2 ** Math.min(attempts, 8))

/** Of one event, for the caches of every node. */
const Published = defineSignal<{ event: string; payloads: unknown[] }>('kernel.event')

export function createBus(deps: { db: Db; signals: Signals; nodeId: string; log: Log; metrics: Metrics }): Bus {
  const { db, signals, log } = deps
  const delivered = deps.metrics.counter('waypost_events_delivered_total', 'Events handled by durable reactions', [
    'outcome',
  ])
  const hearers = new Map<string, ((payload: never) => void)[]>()
  const subscriptions = new Map<string, string[]>()
  const reactions = new Map<string, Reaction>()
  let draining: Promise<void> | undefined
  let again = false
  let running = false
  let timer: NodeJS.Timeout | undefined

  signals.on(Published, ({ event, payloads }) => {
    for (const payload of payloads) for (const listener of hearers.get(event) ?? []) listener(payload as never)
  })

  async function deliver({ id, subscription, key }: Head) {
    const reaction = reactions.get(subscription)
    if (!reaction) return
    try {
      await db.tx(async (sql) => {
        const [locked] =
          await sql`select pg_try_advisory_xact_lock(hashtextextended(${subscription + '\n' + key}, 0)) as ok`
        if (!locked?.ok) return
        const [row] = await sql`delete from kernel.outbox where id = ${id} returning payload`
        if (row) await reaction(sql, row.payload)
      })
      delivered.inc({ outcome: 'success' })
    } catch (error) {
      delivered.inc({ outcome: 'failure' })
      const [row] = await db.sql`
        update kernel.outbox set attempts = attempts + 1 where id = ${id} returning attempts`
      const seconds = backoffSeconds(row?.attempts ?? 1)
      await db.sql`update kernel.outbox set due_at = now() + make_interval(secs => ${seconds}) where id = ${id}`
      log.error({ err: error, subscription, key, attempts: row?.attempts }, 'a reaction failed and will be tried again')
    }
  }

  async function drain() {
    do {
      again = false
      for (;;) {
        const heads = await db.sql<Head[]>`
          with heads as (
            select distinct on (subscription, key) id, subscription, key, due_at
            from kernel.outbox order by subscription, key, id)
          select id, subscription, key from heads where due_at <= now() order by id limit ${parallel}`
        const mine = heads.filter(({ subscription }) => reactions.has(subscription))
        if (mine.length === 0 || !running) break
        await Promise.all(mine.map(deliver))
      }
    } while (again && running)
  }

  function wake() {
    if (!running) return
    again = true
    draining ??= drain()
      .catch((error) => log.error({ err: error }, 'the outbox could not be read; trying again'))
      .finally(() => {
        draining = undefined
      })
  }

  async function publishAll<P>(sql: Sql, event: EventType<P>, payloads: P[]) {
    if (payloads.length === 0) return
    const names = subscriptions.get(event.name) ?? []
    if (names.length > 0)
      await sql`
        insert into kernel.outbox (subscription, event, key, payload)
        select subscription, ${event.name}, key, payload
        from unnest(${payloads.map(event.key)}::text[],
            ${payloads.map((payload) => JSON.stringify(payload))}::text[]::jsonb[]) with ordinality as told(key, payload, n),
          unnest(${names}::text[]) as subscription
        order by n`
    if (hearers.has(event.name)) {
      const to = event.bulky ? (`node/${deps.nodeId}` as const) : 'all'
      await signals.send(sql, to, Published, { event: event.name, payloads })
    }
    if (names.length > 0) db.afterCommit(sql, wake)
  }

  return {
    publish: (sql, event, payload) => publishAll(sql, event, [payload]),
    publishAll,
    hear(event, listener) {
      hearers.set(event.name, [...(hearers.get(event.name) ?? []), listener])
    },
    onGap: signals.onReset,
    isHeard: ({ name }) => hearers.has(name) || subscriptions.has(name),
    react(subscription, event, reaction) {
      if (reactions.has(subscription)) throw new Error(`reaction ${subscription} is registered twice`)
      reactions.set(subscription, reaction as Reaction)
      subscriptions.set(event.name, [...(subscriptions.get(event.name) ?? []), subscription])
    },
    async start({ workers }) {
      await signals.start()
      running = workers
      if (workers) timer = setInterval(wake, pollMs)
      wake()
    },
    async stop() {
      running = false
      clearInterval(timer)
      await draining
      await signals.stop()
    },
    async settled() {
      const deadline = monotonicMs() + 30_000
      while (monotonicMs() < deadline) {
        wake()
        await draining
        const [row] = await db.sql`select exists (select from kernel.outbox where due_at <= now()) as waiting`
        if (!row?.waiting) return
      }
      throw new Error('the outbox did not settle within 30 s')
    },
  }
}

export { resetAllNodes as tellGap } from './signals.ts'
