/**
 * Delivers events durably. There is one row for each event and subscription. Workers on every node lock keys with `for update skip locked`
 * and deliver their events in order. A worker sleeps when other workers have locked all due keys.
 */

import { monotonicMs, sleep } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createOpenItems, type OpenItems } from './open-items.ts'
import { type Delivery, deliverFailed, deliverFresh, type EventHandler } from './outbox/deliver.ts'
import { deliveryFailed } from './outbox/log-messages.ts'
import * as store from './outbox/store.ts'
import { createDeliveryWaits, type DeliveryWaits } from './outbox/waits.ts'
import { defineSignal, type Signals } from './signals.ts'

export interface Outbox {
  add(subscription: string, handler: EventHandler): void
  /** Inserts events in the caller's transaction; they are delivered after its commit. */
  insert(sql: Sql, subscriptions: string[], event: string, rows: { key: string; payload: string }[]): Promise<void>
  /**
   * Resolves when these subscriptions have handled the committed events of the key, or when a handler has failed and its event waits for a
   * retry. Resolves at the latest after `limitMs`.
   */
  delivered(subscriptions: string[], key: string, limitMs: number): Promise<void>
  start(): void
  stop(): Promise<void>
  /** Resolves when no event is due. */
  settled(): Promise<void>
}

/** Wakes the workers of the other nodes, because there are more events than this node can deliver at the same time. */
const EventsWaiting = defineSignal<Record<never, never>>('kernel.events-waiting')

const pollMs = 5000
const wakeOtherNodesMs = 1000
const settleMs = 30_000
/**
 * Time until `delivered` first checks whether another node has delivered the events. It doubles with each check. This node reports its own
 * deliveries immediately.
 */
const otherNodesCheckMs = 100

/** Work for the workers: due events of a subscription, of keys without (`fresh`) or with a failed event (store.ts). */
interface Task {
  subscription: string
  kind: 'fresh' | 'failed'
}

interface OutboxDeps {
  db: Db
  signals: Signals
  log: Log
  metrics: Metrics
  /** Maximum number of concurrent batches, each on a connection of its own. */
  workers: number
}

/** The workers of this node and the tasks that they have found. */
interface State extends Pick<OutboxDeps, 'db' | 'signals' | 'log'> {
  workersMax: number
  delivery: Delivery
  waits: DeliveryWaits
  handlers: Map<string, EventHandler>
  tasks: Map<string, Task>
  workers: OpenItems<Promise<void>>
  running: boolean
  /** True when events may have become due since the last search. */
  needsSearch: boolean
  runningSearch: Promise<void> | undefined
  poll: NodeJS.Timeout | undefined
  retry: { timer: NodeJS.Timeout; at: number } | undefined
  otherNodesWokenAt: number
}

export function createOutbox({ db, signals, log, metrics, workers: workersMax }: OutboxDeps): Outbox {
  const counter = metrics.counter(
    'waypost_events_delivered_total',
    'Number of events delivered to event handlers, by outcome.',
    ['outcome'],
  )
  const waits = createDeliveryWaits()
  const state: State = {
    db,
    signals,
    log,
    workersMax,
    delivery: {
      db,
      log,
      delivered(subscription, events) {
        counter.inc({ outcome: 'success' }, events.length)
        waits.delivered(subscription, events)
      },
      countFailure: () => counter.inc({ outcome: 'failure' }),
      postponed: (subscription, { key }) => waits.postponed(subscription, key),
      scheduleRetry: (seconds) => scheduleRetry(state, seconds),
      searchAgain() {
        state.needsSearch = true
      },
    },
    waits,
    handlers: new Map(),
    tasks: new Map(),
    workers: createOpenItems(),
    running: false,
    needsSearch: false,
    runningSearch: undefined,
    poll: undefined,
    retry: undefined,
    otherNodesWokenAt: Number.NEGATIVE_INFINITY,
  }
  signals.on(EventsWaiting, () => wake(state))
  return {
    add(subscription, handler) {
      if (state.handlers.has(subscription)) throw new Error(`event handler ${subscription} is registered twice`)
      state.handlers.set(subscription, handler)
    },
    async insert(sql, subscriptions, event, rows) {
      // The insert is not awaited. It is sent together with the next statement or COMMIT, which fails if the insert fails.
      store.insertEvents(sql, subscriptions, event, rows).catch(() => {})
      db.afterCommit(sql, () => {
        if (state.running) wake(state)
        else void signals.sendNow('all', EventsWaiting, {})
      })
    },
    delivered: (subscriptions, key, limitMs) => delivered(state, subscriptions, key, limitMs),
    start() {
      state.running = true
      wake(state)
      schedulePoll(state)
    },
    async stop() {
      state.running = false
      clearTimeout(state.poll)
      clearTimeout(state.retry?.timer)
      await Promise.all(state.workers)
    },
    settled: () => settled(state),
  }
}

async function delivered({ db, waits, running }: State, subscriptions: string[], key: string, limitMs: number) {
  // If this process has no running workers, it does not wait: another node delivers the events.
  if (!running) return
  // The wait begins before the events are read, so that no delivery is missed in between.
  const wait = waits.begin(subscriptions, key)
  try {
    wait.expect(await store.findNewestWaiting(db.sql, subscriptions, key))
    const deadline = monotonicMs() + limitMs
    for (let pauseMs = otherNodesCheckMs; !wait.isOver() && monotonicMs() < deadline; pauseMs *= 2) {
      await Promise.race([wait.over, sleep(Math.min(pauseMs, deadline - monotonicMs()))])
      if (!wait.isOver()) wait.expect(await store.findNewestWaiting(db.sql, subscriptions, key))
    }
  } finally {
    wait.end()
  }
}

async function settled(state: State) {
  const deadline = monotonicMs() + settleMs
  while (monotonicMs() < deadline) {
    wake(state)
    await Promise.all(state.workers)
    if (!(await store.isAnyDue(state.db.sql, [...state.handlers.keys()]))) return
    await sleep(10)
  }
  throw new Error(`events are still waiting after ${settleMs} ms`)
}

function wake(state: State) {
  state.needsSearch = true
  startWorkers(state, state.workers.size + 1)
}

/** Starts workers until there are `count` of them, or until the maximum of this node is reached. */
function startWorkers(state: State, count: number) {
  const { workers, workersMax, log } = state
  while (state.running && workers.size < Math.min(workersMax, count)) {
    const worker = runWorker(state)
      .catch((error) => deliveryFailed(log, { err: error }))
      .finally(() => remove())
    const remove = workers.add(worker)
  }
}

async function runWorker(state: State) {
  const { delivery, handlers, tasks } = state
  while (state.running) {
    const task = nextTask(tasks) ?? (await findTask(state))
    if (!task) return
    const { subscription: name, kind } = task
    const subscription = { name, handler: handlers.get(name)! }
    const hasMore = await (kind === 'fresh' ? deliverFresh : deliverFailed)(delivery, subscription)
    if (!hasMore) tasks.delete(taskKey(task))
    else if (kind === 'fresh') wakeMoreWorkers(state)
  }
}

const taskKey = ({ subscription, kind }: Task) => `${kind} ${subscription}`

/** Returns the first task and moves it to the end, so that subscriptions take turns. */
function nextTask(tasks: Map<string, Task>): Task | undefined {
  const [first] = tasks
  if (!first) return undefined
  const [key, task] = first
  tasks.delete(key)
  tasks.set(key, task)
  return task
}

async function findTask(state: State): Promise<Task | undefined> {
  while (state.needsSearch && state.running && state.tasks.size === 0) {
    state.runningSearch ??= searchDueEvents(state).finally(() => {
      state.runningSearch = undefined
    })
    await state.runningSearch
  }
  return nextTask(state.tasks)
}

async function searchDueEvents(state: State) {
  const { db, handlers, tasks } = state
  state.needsSearch = false
  const { due, more } = await store.findDue(db.sql, [...handlers.keys()])
  if (more) state.needsSearch = true
  for (const { subscription, fresh, failed } of due) {
    for (const kind of ['fresh', 'failed'] as const) {
      const task = { subscription, kind }
      if (kind === 'fresh' ? fresh : failed) tasks.set(taskKey(task), task)
    }
  }
  startWorkers(state, tasks.size)
}

/** Starts another worker and wakes the other nodes, because a batch was full. */
function wakeMoreWorkers(state: State) {
  startWorkers(state, state.workers.size + 1)
  const at = monotonicMs()
  if (at - state.otherNodesWokenAt < wakeOtherNodesMs) return
  state.otherNodesWokenAt = at
  void state.signals.sendNow('all', EventsWaiting, {})
}

function scheduleRetry(state: State, seconds: number) {
  const at = monotonicMs() + seconds * 1000
  if (state.retry && state.retry.at <= at) return
  clearTimeout(state.retry?.timer)
  const timer = setTimeout(
    () => {
      state.retry = undefined
      wake(state)
    },
    seconds * 1000 + 20,
  )
  state.retry = { timer: timer.unref(), at }
}

function schedulePoll(state: State) {
  state.poll = setTimeout(
    () => {
      wake(state)
      schedulePoll(state)
    },
    pollMs * (0.8 + 0.4 * Math.random()),
  ).unref()
}
