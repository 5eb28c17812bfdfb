/**
 * Tell by event. `publish` writes into the outbox in the transaction of the change that it tells; a durable
 * reaction runs at least once and in order for each key, in a transaction that also deletes its outbox row. `hear`
 * is for caches: every process is called after the commit, and `onGap` when something may have been missed.
 */
import { monotonicMs } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface EventType<P> {
  name: string
  description: string
  key(payload: P): string
  /** Too much for messages between processes: `hear` is told in the process where it happens only. */
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

/** What fits into one message of NOTIFY, which takes 8000 bytes. */
const messageBytes = 7900
/** Of a list within a message: the rest is for the event's name and what else its payload says. */
const listBytes = 6000

/** For an event that tells of many: so few at once that it reaches the other processes whole, and not as a gap. */
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
   * Of many at once: two statements, whatever their number. Equal ones of a transaction are heard once in the other processes,
   * as NOTIFY does it, which is enough for caches; reactions get each.
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

/** How events reach the other processes. PostgreSQL's NOTIFY today; NATS takes its place behind the same three calls. */
export interface Transport {
  /** In the transaction: leaves with the commit or not at all. */
  send(sql: Sql, messages: string[]): Promise<void>
  open(receive: (message: string) => void, gap: () => void): Promise<void>
  close(): Promise<void>
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

export function createBus(deps: { db: Db; transport: Transport; nodeId: string; log: Log; metrics: Metrics }): Bus {
  const { db, transport, nodeId, log } = deps
  const delivered = deps.metrics.counter('waypost_events_delivered_total', 'Events handled by durable reactions', [
    'outcome',
  ])
  const hearers = new Map<string, ((payload: never) => void)[]>()
  const gapListeners: (() => void)[] = []
  const subscriptions = new Map<string, string[]>()
  const reactions = new Map<string, Reaction>()
  let draining: Promise<void> | undefined
  let again = false
  let running = false
  let timer: NodeJS.Timeout | undefined

  const callHearers = (name: string, payload: unknown) => {
    for (const listener of hearers.get(name) ?? []) listener(payload as never)
  }
  const gap = () => {
    for (const listener of gapListeners) listener()
  }

  const ours = `{"node":${JSON.stringify(nodeId)},`

  function receive(text: string) {
    if (text.startsWith(ours)) return
    const message = JSON.parse(text) as { node: string; event: string; payload?: unknown }
    // A payload too long for the transport arrives without its content: whoever keeps a cache starts anew.
    if (message.payload === undefined) gap()
    else callHearers(message.event, message.payload)
  }

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
    if (hearers.has(event.name) && !event.bulky)
      await transport.send(
        sql,
        payloads.map((payload) => messageOf(event.name, payload)),
      )
    db.afterCommit(sql, () => {
      for (const payload of payloads) callHearers(event.name, payload)
      if (names.length > 0) wake()
    })
  }

  function messageOf(event: string, payload: unknown): string {
    const whole = JSON.stringify({ node: nodeId, event, payload })
    return Buffer.byteLength(whole) < messageBytes ? whole : JSON.stringify({ node: nodeId, event })
  }

  return {
    publish: (sql, event, payload) => publishAll(sql, event, [payload]),
    publishAll,
    hear(event, listener) {
      hearers.set(event.name, [...(hearers.get(event.name) ?? []), listener])
    },
    onGap(listener) {
      gapListeners.push(listener)
    },
    isHeard: ({ name }) => hearers.has(name) || subscriptions.has(name),
    react(subscription, event, reaction) {
      if (reactions.has(subscription)) throw new Error(`reaction ${subscription} is registered twice`)
      reactions.set(subscription, reaction as Reaction)
      subscriptions.set(event.name, [...(subscriptions.get(event.name) ?? []), subscription])
    },
    async start({ workers }) {
      await transport.open(receive, gap)
      running = workers
      if (workers) timer = setInterval(wake, pollMs)
      wake()
    },
    async stop() {
      running = false
      clearInterval(timer)
      await draining
      await transport.close()
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

const channel = 'waypost_events'

/** To every process with the commit of `sql`: anything may have changed, start anew. For commands beside the platform. */
export const tellGap = (sql: Sql) =>
  sql`select pg_notify(${channel}, ${JSON.stringify({ node: '', event: 'kernel.gap' })})`

/** LISTEN and NOTIFY: within one process nothing of it is used, between processes on one database it is enough. */
export function postgresTransport(db: Db): Transport {
  let subscription: { unlisten(): Promise<void> } | undefined
  return {
    async send(sql, messages) {
      await sql`select pg_notify(${channel}, message) from unnest(${messages}::text[]) as message`
    },
    async open(receive, gap) {
      let first = true
      subscription = await db.sql.listen(channel, receive, () => {
        if (!first) gap() // reconnected: what was told in between is lost
        first = false
      })
    },
    async close() {
      await subscription?.unlisten()
    },
  }
}
