/**
 * Signals: messages between nodes (README.md). `send` stores a row in the caller's transaction. After the commit, the relay sends the
 * message in a batch and deletes the row. If a node dies, another node sends its rows.
 */

import { sleep } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import type { Member, Members } from './members.ts'
import type { Metrics } from './metrics.ts'
import { createOpenItems, type OpenItems } from './open-items.ts'
import { type Check, type Checks, createChecks } from './signals/checks.ts'
import { defineRequest, defineSignal, type Handler, type Signal } from './signals/define.ts'
import { createHandlers, type Handlers } from './signals/handlers.ts'
import { createSigningKey } from './signals/key.ts'
import { joinUnanswered } from './signals/log-messages.ts'
import { createReceiver } from './signals/receive.ts'
import { createRelay, type Pending, type Relay } from './signals/relay.ts'
import { createRequests, type Requests } from './signals/requests.ts'
import { existsStale, insertForAnyNode, insertSignals } from './signals/rows.ts'
import { createSweeper, removeWhenHandled, type Sweeper } from './signals/sweep.ts'
import { type Address, isAny, isFor, type Transport } from './signals/transport.ts'

export { defineRequest, defineSignal, type Request, type Signal } from './signals/define.ts'
export { type Address, inProcessTransport, postgresTransport, type Transport } from './signals/transport.ts'

export interface Signals extends Requests {
  /** Sends a signal with the commit of `sql`. A rolled-back signal is not sent; a committed signal is delivered at least once. */
  send<P>(sql: Sql, to: Address, signal: Signal<P>, payload: P): Promise<void>
  /** Sends several messages with one statement. */
  sendEach<P>(sql: Sql, signal: Signal<P>, messages: { to: Address; payload: P }[]): Promise<void>
  /**
   * Sends a signal without a row. This is cheaper, but the signal is lost if this node dies or the database is unreachable. Resolves to
   * true if the signal was sent.
   */
  sendNow<P>(to: Exclude<Address, `any/${string}`>, signal: Signal<P>, payload: P): Promise<boolean>
  /** Registers a handler. On the sending node it runs after the commit and before `tx` returns. `from` is the sender's node id. */
  on<P>(signal: Signal<P>, handler: Handler<P>): void
  /** Registers a listener that is called when signals may have been lost. The listener must clear caches that signals invalidate. */
  onReset(listener: () => void): void
  /** Declares a value that this node reads repeatedly, so that it finds a change even if the signal about it was lost. */
  declareCheck(check: Check): void
  start(): Promise<void>
  stop(): Promise<void>
  /** Sends all pending messages. Use it in a process that does not call `start` and exits soon. */
  flush(): Promise<void>
}

/** Makes every node reset its caches, with the commit of `sql`. Commands that change the database of a running platform use it. */
export const resetAllNodes = (sql: Sql) => insertForAnyNode(sql, { address: 'all', topic: Reset.name, payload: '{}' })

/**
 * Interval at which a node that is alone looks for stored messages. It can be long: only commands store messages then, and a command also
 * notifies the node.
 */
const sweepAloneMs = 30_000
/**
 * A starting node waits `joinMs` for the answers of the other nodes. An answer that arrives later causes another reset. A node that does
 * not answer within `answerMs` causes a reset `resetAgainMs` later.
 */
export const defaultJoinTimes = { joinMs: 500, answerMs: 5000, resetAgainMs: 2000 }

const Join = defineRequest<Record<never, never>, true>('kernel.join')
const Leave = defineSignal<Record<never, never>>('kernel.leave')
const Reset = defineSignal<Record<never, never>>('kernel.reset')

interface Parts {
  db: Db
  members: Members
  log: Log
  relay: Relay
  handlers: Handlers
  /** Inserts of committed messages whose row ids are not known yet. */
  inserting: OpenItems<Promise<unknown>>
}

export function createSignals(deps: {
  db: Db
  members: Members
  transport: Transport
  log: Log
  metrics: Metrics
  joining?: typeof defaultJoinTimes
}): Signals {
  const { db, members, transport, log, metrics } = deps
  const { nodeId } = members
  const sent = metrics.counter('waypost_signals_sent_total', 'Number of signals sent to other nodes.')
  const received = metrics.counter('waypost_signals_received_total', 'Number of signals received from other nodes.')
  const lost = metrics.counter('waypost_signals_lost_total', 'Number of signals that were not delivered, by reason.', [
    'reason',
  ])
  const key = createSigningKey(db, log)
  const handlers = createHandlers(log)
  const relay = createRelay({
    transport,
    nodeId,
    key: key.load,
    log,
    countSent: (count) => sent.inc(count),
    countDropped: (count) => lost.inc({ reason: 'unsent' }, count),
  })
  const parts: Parts = { db, members, log, relay, handlers, inserting: createOpenItems() }
  const sweeper = createSweeper({ db, nodeId, handlers, relay, log })
  const checks = createChecks({ db, members, log })
  checks.declare({
    name: 'signals of dead nodes',
    expression: (sql) => existsStale(sql, relay.pendingRows()),
    handle: (isStale) => isStale === true && void sweeper.run(),
    aloneMs: sweepAloneMs,
  })
  const receive = createReceiver({
    nodeId,
    key,
    handlers,
    log,
    countReceived: (count) => received.inc(count),
    countRejected: () => lost.inc({ reason: 'signature' }),
    sweep: sweeper.run,
  })
  const sendNow = createSendNow(parts)
  const requests = createRequests({ sendNow, on: handlers.on })
  requests.answer(Join, async () => {
    await members.refresh()
    return true
  })
  handlers.on(Leave, async (_, from) => {
    if (from !== nodeId) await members.refresh()
  })
  handlers.on(Reset, handlers.reset)
  members.onReturn(handlers.reset)
  members.declareOwnedRows({ name: 'kernel.signals', owners: async () => [], sweep: sweeper.run })
  const open = async () => {
    await key.load()
    await transport.open(nodeId, receive, handlers.reset, members.setListener)
  }
  return {
    ...requests,
    on: handlers.on,
    onReset: handlers.onReset,
    send: (sql, to, { name }, payload) => send(parts, sql, name, [{ to, payload }]),
    sendEach: (sql, { name }, messages) => send(parts, sql, name, messages),
    sendNow,
    flush: () => flush(parts),
    declareCheck: checks.declare,
    ...lifecycleOf(parts, {
      open,
      close: transport.close,
      requests,
      sweeper,
      checks,
      sendNow,
      joining: deps.joining ?? defaultJoinTimes,
    }),
  }
}

function lifecycleOf(
  parts: Parts,
  deps: {
    open(): Promise<void>
    close(): Promise<void>
    requests: Requests
    sweeper: Sweeper
    checks: Checks
    sendNow: Signals['sendNow']
    joining: typeof defaultJoinTimes
  },
): Pick<Signals, 'start' | 'stop'> {
  const { members, handlers, log } = parts
  const { requests, sweeper, checks, joining } = deps
  let started = false

  /** Asks the other nodes to send their signals to this node too. Until they do so, cached values of this node may be outdated. */
  async function join() {
    const others = members.others()
    if (others.length === 0) return
    const joinRequests = Promise.allSettled(
      others.map(({ id }) => requests.request(id, Join, {}, { timeoutMs: joining.answerMs })),
    )
    // A node that died a moment ago still counts as alive and never answers, so the start waits only for this time.
    const allAnswered = await Promise.race([joinRequests, sleep(joining.joinMs)])
    handlers.reset()
    if (!allAnswered) void joinRequests.then(() => started && handlers.reset())
    void joinRequests.then((answers) => resetAgain(others, answers))
  }

  /**
   * Resets once more after the next heartbeat. By then, the nodes that did not answer have read the row of this node and send signals to
   * it.
   */
  async function resetAgain(others: Member[], answers: PromiseSettledResult<true>[]) {
    const silentNodes = others.filter((_, index) => answers[index]!.status === 'rejected').map(({ id }) => id)
    if (silentNodes.length === 0 || !started) return
    joinUnanswered(log, { nodes: silentNodes })
    await sleep(joining.resetAgainMs)
    if (started) handlers.reset()
  }

  return {
    async start() {
      await deps.open()
      await members.start()
      started = true
      await join()
      await sweeper.run()
      checks.start()
    },
    async stop() {
      await checks.stop()
      await sweeper.stop()
      await flush(parts)
      if (!started) return
      started = false
      const wasAlone = members.isAlone()
      await members.stop()
      if (!wasAlone) await deps.sendNow('all', Leave, {})
      await deps.close()
    },
  }
}

interface OutgoingMessage {
  to: Address
  payload: unknown
}

async function send(parts: Parts, sql: Sql, topic: string, messages: OutgoingMessage[]) {
  const { db, members } = parts
  const { nodeId } = members
  const toStore = messages
    // A node that is alone stores and sends nothing. If another node joins before the commit, the signal is sent to it without a row.
    .filter(({ to }) => to !== `node/${nodeId}` && !(to === 'all' && members.isAlone()))
    .map((message) => ({ message, text: JSON.stringify(message.payload) }))
  // The insert is not awaited. It is sent together with the next statement or COMMIT, which fails if the insert fails.
  const inserted = insertSignals(
    sql,
    // A process that has not joined does not handle messages itself.
    toStore.map(({ message: { to }, text }) => {
      return { nodeId: isAny(to) && !members.isAlive(nodeId) ? '' : nodeId, address: to, topic, payload: text }
    }),
  )
  inserted.catch(() => {})
  db.afterCommit(sql, () => {
    const handled = new Map(messages.map((message) => [message, handleHere(parts, topic, message)]))
    const storedMessages = new Set(toStore.map(({ message }) => message))
    for (const message of messages) if (!storedMessages.has(message)) relayUnstored(parts, topic, message)
    if (toStore.length === 0) return
    const added = inserted.then((ids) => {
      for (const [index, { message, text }] of toStore.entries())
        relayStored(parts, { address: message.to, topic, payload: text, rowId: ids[index]! }, handled.get(message))
      remove()
    })
    const remove = parts.inserting.add(added)
  })
}

async function flush({ inserting, relay }: Parts) {
  await Promise.all(inserting)
  await relay.flush()
}

/** Handles a message on this node if it is addressed to this node. */
function handleHere({ members, handlers }: Parts, topic: string, { to, payload }: OutgoingMessage) {
  const { nodeId } = members
  if (isFor(to, nodeId) || (isAny(to) && members.isAlive(nodeId))) return handlers.dispatch(topic, payload, nodeId)
  return undefined
}

function relayStored(parts: Parts, message: Pending & { rowId: number }, handled: Promise<unknown> | undefined) {
  if (!isAny(message.address)) parts.relay.add(message)
  else if (handled) removeWhenHandled(parts, message.rowId, handled)
}

/** Sends a message to nodes that joined after its transaction began. */
function relayUnstored({ members, relay }: Parts, topic: string, { to, payload }: OutgoingMessage) {
  if (to === 'all' && !members.isAlone())
    relay.add({ address: to, topic, payload: JSON.stringify(payload), rowId: undefined })
}

const createSendNow =
  ({ members, relay, handlers }: Parts): Signals['sendNow'] =>
  (to, { name: topic }, payload) => {
    const { nodeId } = members
    if (isFor(to, nodeId)) queueMicrotask(() => void handlers.dispatch(topic, payload, nodeId))
    if (to === `node/${nodeId}` || (to === 'all' && members.isAlone())) return Promise.resolve(true)
    const text = JSON.stringify(payload)
    return new Promise((done) => relay.add({ address: to, topic, payload: text, rowId: undefined, done }))
  }
