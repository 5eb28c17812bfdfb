/**
 * Delivers events durably. There is one row for each event and subscription; workers on every node take keys with `for update
 * skip locked`, deliver their events in order, and sleep when all due keys are taken.
 */
import { monotonicMs, sleep } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { type Delivery, deliverFailed, deliverFresh, type EventHandler } from './outbox/deliver.ts'
import { deliveryFailed } from './outbox/log-messages.ts'
import * as store from './outbox/store.ts'
import { defineSignal, type Signals } from './signals.ts'

export interface Outbox {
  add(subscription: string, handler: EventHandler): void
  /** Inserts events in the caller's transaction; they are delivered after its commit. */
  insert(sql: Sql, subscriptions: string[], event: string, rows: { key: string; payload: string }[]): Promise<void>
  start(): void
  stop(): Promise<void>
  /** Resolves when no event is due. */
  settled(): Promise<void>
}

/** Sent when there are more events than the sender delivers at once. */
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
  /** Number of batches at the same time, each on a connection of its own. */
  workers: number
}): Outbox {
  const { db, signals, log } = deps
  const counter = deps.metrics.counter(
    'waypost_events_delivered_total',
    'Events delivered to event handlers, by outcome',
    ['outcome'],
  )
  const handlers = new Map<string, EventHandler>()
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
    searchAgain() {
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
    if (running && workers.size < deps.workers) startWorker()
  }

  function startWorker() {
    const worker = work()
      .catch((error) => deliveryFailed(log, { err: error }))
      .finally(() => workers.delete(worker))
    workers.add(worker)
  }

  async function work() {
    while (running) {
      const task = next() ?? (await find())
      if (!task) return
      const { subscription: name, kind } = task
      const subscription = { name, handler: handlers.get(name)! }
      const isMore = await (kind === 'fresh' ? deliverFresh : deliverFailed)(delivery, subscription)
      if (!isMore) tasks.delete(keyOf(task))
      else if (kind === 'fresh') askForHelp()
    }
  }

  const keyOf = ({ subscription, kind }: Task) => `${kind} ${subscription}`

  /** Returns the first task and moves it to the end, so that subscriptions take turns. */
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
      finding ??= search().finally(() => {
        finding = undefined
      })
      await finding
    }
    return next()
  }

  async function search() {
    again = false
    const { due, more } = await store.findDue(db.sql, [...handlers.keys()])
    if (more) again = true
    for (const { subscription, fresh, failed } of due) {
      for (const kind of ['fresh', 'failed'] as const) {
        const task = { subscription, kind }
        if (kind === 'fresh' ? fresh : failed) tasks.set(keyOf(task), task)
      }
    }
    while (running && workers.size < Math.min(deps.workers, tasks.size)) startWorker()
  }

  /** Starts another worker and wakes the other nodes, because a batch was full. */
  function askForHelp() {
    if (running && workers.size < deps.workers) startWorker()
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
    add(subscription, handler) {
      if (handlers.has(subscription)) throw new Error(`event handler ${subscription} is registered twice`)
      handlers.set(subscription, handler)
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
        if (!(await store.isAnyDue(db.sql, [...handlers.keys()]))) return
        await sleep(10)
      }
      throw new Error(`events are still waiting after ${settleMs} ms`)
    },
  }
}
