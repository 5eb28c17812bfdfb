/**
 * Durable delivery of events. A row waits for each event and subscription; several workers on every node take keys with
 * `for update skip locked`, deliver their events in order, and sleep when everything due is taken.
 */
import { monotonicMs, sleep } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { type Delivery, deliverFailed, deliverFresh, type Reaction } from './outbox/deliver.ts'
import * as store from './outbox/store.ts'
import { defineSignal, type Signals } from './signals.ts'

export interface Outbox {
  add(subscription: string, reaction: Reaction): void
  /** In the caller's transaction; delivered after its commit. */
  insert(sql: Sql, subscriptions: string[], event: string, rows: { key: string; payload: string }[]): Promise<void>
  start(): void
  stop(): Promise<void>
  /** Resolves when nothing is due. */
  settled(): Promise<void>
}

/** There is more to deliver than the sender does at once. */
const EventsWaiting = defineSignal<Record<never, never>>('kernel.events-waiting')

const pollMs = 5000
const askForHelpMs = 1000
const settleMs = 30_000

interface Task {
  subscription: string
  kind: 'fresh' | 'failed'
}

export function createOutbox(deps: {
  db: Db
  signals: Signals
  log: Log
  metrics: Metrics
  /** Batches at once, each on a connection of its own. */
  workers: number
}): Outbox {
  const { db, signals, log } = deps
  const counter = deps.metrics.counter('waypost_events_delivered_total', 'Events handled by durable reactions', [
    'outcome',
  ])
  const reactions = new Map<string, Reaction>()
  const tasks = new Map<string, Task>()
  const workers = new Set<Promise<void>>()
  let [running, again] = [false, false]
  let finding: Promise<void> | undefined
  let poll: NodeJS.Timeout | undefined
  let retry: { timer: NodeJS.Timeout; at: number } | undefined
  let askedForHelpAt = Number.NEGATIVE_INFINITY

  const delivery: Delivery = {
    db,
    log,
    counted: (outcome, events) => counter.inc({ outcome }, events),
    retryIn,
    lookAgain() {
      again = true
    },
  }

  function retryIn(seconds: number) {
    const at = monotonicMs() + seconds * 1000
    if (retry && retry.at <= at) return
    clearTimeout(retry?.timer)
    const timer = setTimeout(
      () => {
        retry = undefined
        wake()
      },
      seconds * 1000 + 20,
    )
    retry = { timer: timer.unref(), at }
  }

  function wake() {
    again = true
    if (running && workers.size < deps.workers) employ()
  }

  function employ() {
    const worker = work()
      .catch((error) => log.error({ err: error }, 'delivering events failed; retrying within 5 s'))
      .finally(() => workers.delete(worker))
    workers.add(worker)
  }

  async function work() {
    while (running) {
      const task = next() ?? (await find())
      if (!task) return
      const { subscription: name, kind } = task
      const subscription = { name, reaction: reactions.get(name)! }
      const isMore = await (kind === 'fresh' ? deliverFresh : deliverFailed)(delivery, subscription)
      if (!isMore) tasks.delete(keyOf(task))
      else if (kind === 'fresh') askForHelp()
    }
  }

  const keyOf = ({ subscription, kind }: Task) => `${kind} ${subscription}`

  /** Moves it to the end: subscriptions take turns. */
  function next(): Task | undefined {
    const [first] = tasks
    if (!first) return undefined
    const [key, task] = first
    tasks.delete(key)
    tasks.set(key, task)
    return task
  }

  async function find(): Promise<Task | undefined> {
    while (again && running && tasks.size === 0) {
      finding ??= look().finally(() => {
        finding = undefined
      })
      await finding
    }
    return next()
  }

  async function look() {
    again = false
    const { due, more } = await store.findDue(db.sql, [...reactions.keys()])
    if (more) again = true
    for (const { subscription, fresh, failed } of due) {
      for (const kind of ['fresh', 'failed'] as const) {
        const task = { subscription, kind }
        if (kind === 'fresh' ? fresh : failed) tasks.set(keyOf(task), task)
      }
    }
    while (running && workers.size < Math.min(deps.workers, tasks.size)) employ()
  }

  /** A batch was full: another worker here, and the other nodes. */
  function askForHelp() {
    if (running && workers.size < deps.workers) employ()
    const at = monotonicMs()
    if (at - askedForHelpAt < askForHelpMs) return
    askedForHelpAt = at
    void signals.sendNow('all', EventsWaiting, {})
  }

  function pollLater() {
    poll = setTimeout(
      () => {
        wake()
        pollLater()
      },
      pollMs * (0.8 + 0.4 * Math.random()),
    ).unref()
  }

  signals.on(EventsWaiting, wake)

  return {
    add(subscription, reaction) {
      if (reactions.has(subscription)) throw new Error(`reaction ${subscription} is registered twice`)
      reactions.set(subscription, reaction)
    },
    async insert(sql, subscriptions, event, rows) {
      await store.insertEvents(sql, subscriptions, event, rows)
      db.afterCommit(sql, () => {
        if (running) wake()
        else void signals.sendNow('all', EventsWaiting, {})
      })
    },
    start() {
      running = true
      wake()
      pollLater()
    },
    async stop() {
      running = false
      clearTimeout(poll)
      clearTimeout(retry?.timer)
      await Promise.all(workers)
    },
    async settled() {
      const deadline = monotonicMs() + settleMs
      while (monotonicMs() < deadline) {
        wake()
        await Promise.all(workers)
        if (!(await store.isAnyDue(db.sql, [...reactions.keys()]))) return
        await sleep(10)
      }
      throw new Error(`events are still waiting after ${settleMs} ms`)
    },
  }
}
