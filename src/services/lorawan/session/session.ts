/**
 * The session of one integration on this node. It connects, subscribes, and reconnects with growing pauses. It passes messages on and
 * acknowledges them when they are handled. It reports its state only when the state changes.
 */
import { monotonicMs, sleep } from '../../../kernel/clock.ts'
import type { MqttAddress } from '../hosts.ts'
import { connectMqtt, type IncomingMessage, type MqttConnection } from './mqtt-connection.ts'
import { ConnectionProblem } from './mqtt-socket.ts'

export interface SessionOptions {
  address: MqttAddress
  clientId: string
  username: string
  password: string
  allowPrivate: boolean
  startsClean: boolean
  /**
   * Returns whether this node still has the session. If it returns false, the session does not connect. If it rejects, because the database
   * does not answer, the session tries again later.
   */
  mayConnect(): Promise<boolean>
  /** Waits until this node may open another connection. */
  limited<T>(work: () => Promise<T>): Promise<T>
  changed(state: { isConnected: boolean; error: string | null }): void
  /** Records that the broker has discarded the session that it kept. If this call rejects, the session is discarded again later. */
  cleaned(): Promise<void>
  /** Resolves when the message may be acknowledged. The payload is undefined if it is too large. */
  handle(topic: string, payload: Buffer | undefined): Promise<void>
  /** Called on each connection, after the subscription. */
  connected(): void
}

export interface Session {
  readonly isConnected: boolean
  /** Rejects if the session is not connected. */
  publish(topic: string, payload: string): Promise<void>
  /** Ends the session. With `discard`, the broker deletes its subscriptions and messages. */
  stop(options?: { discard?: boolean }): Promise<void>
}

const pauseMinMs = 1000
const pauseMaxMs = 60_000
/** Maximum number and size of unhandled messages. Above these limits, the connection is not read until messages are handled. */
const inFlightMax = 200
const inFlightBytesMax = 2 * 1024 * 1024

interface State {
  options: SessionOptions
  connection: MqttConnection | undefined
  startsClean: boolean
  isStopped: boolean
  pauseMs: number
  timer: NodeJS.Timeout | undefined
  connecting: Promise<void> | undefined
  inFlight: number
  inFlightBytes: number
  isPaused: boolean
  connectedAt: number
  reported: string
}

export function startSession(options: SessionOptions): Session {
  const state: State = {
    options,
    connection: undefined,
    startsClean: options.startsClean,
    isStopped: false,
    pauseMs: pauseMinMs,
    timer: undefined,
    connecting: undefined,
    inFlight: 0,
    inFlightBytes: 0,
    isPaused: false,
    connectedAt: 0,
    reported: '',
  }
  attempt(state)
  return {
    get isConnected() {
      return state.connection?.isOpen === true
    },
    async publish(topic, payload) {
      if (!state.connection) throw new ConnectionProblem('the session is not connected')
      await state.connection.publish(topic, payload)
    },
    stop: ({ discard = false } = {}) => stop(state, discard),
  }
}

export const filtersOf = (username: string) => [
  `v3/${username}/devices/+/up`,
  ...['sent', 'ack', 'nack', 'failed'].map((status) => `v3/${username}/devices/+/down/${status}`),
]

function attempt(state: State) {
  state.connecting = connect(state)
    .catch((error) => disconnected(state, error instanceof ConnectionProblem ? error.message : undefined))
    .finally(() => {
      state.connecting = undefined
    })
}

async function connect(state: State) {
  const { options } = state
  if (!(await options.mayConnect()) || state.isStopped) return
  await options.limited(async () => {
    if (state.isStopped) return
    if (state.startsClean) {
      await discardSession(options)
      // The clean start is recorded before the subscription. Otherwise the next node would start clean again and lose queued uplinks.
      await options.cleaned()
      state.startsClean = false
    }
    let isReady = false
    const connection = await connectMqtt({
      ...options,
      isClean: false,
      onMessage: (message, from) => receive(state, message, from),
      onClose(problem) {
        state.connection = undefined
        if (isReady) disconnected(state, problem)
      },
    })
    state.connection = connection
    if (state.isStopped) return connection.close()
    await connection.subscribe(filtersOf(options.username))
    isReady = true
    state.connectedAt = monotonicMs()
    report(state, { isConnected: true, error: null })
    options.connected()
  })
}

/** Connects with a clean session and disconnects again, so that the broker deletes the session that it kept. */
async function discardSession(options: SessionOptions) {
  const connection = await connectMqtt({ ...options, isClean: true, onMessage() {}, onClose() {} })
  connection.close()
}

function receive(state: State, { topic, payload, messageId }: IncomingMessage, connection: MqttConnection) {
  const bytes = payload?.length ?? 0
  state.inFlight++
  state.inFlightBytes += bytes
  if (!state.isPaused && isFull(state)) {
    state.isPaused = true
    connection.pause()
  }
  const done = () => {
    state.inFlight--
    state.inFlightBytes -= bytes
    if (!state.isPaused || isFull(state)) return
    state.isPaused = false
    state.connection?.resume()
  }
  // A message that cannot be handled because the node stops is not acknowledged. The broker then sends it to the next node.
  state.options
    .handle(topic, payload)
    .then(() => {
      if (messageId !== undefined) connection.acknowledge(messageId)
    })
    .catch(() => {})
    .finally(done)
}

const isFull = ({ inFlight, inFlightBytes }: State) => inFlight >= inFlightMax || inFlightBytes >= inFlightBytesMax

/** Reports the reason and connects again later. After a connection that lasted longer than the next pause, pauses are short again. */
function disconnected(state: State, problem: string | undefined) {
  state.connection = undefined
  state.isPaused = false
  if (state.isStopped) return
  report(state, { isConnected: false, error: problem ?? 'the platform could not open the session; retrying' })
  if (state.connectedAt > 0 && monotonicMs() - state.connectedAt > state.pauseMs) state.pauseMs = pauseMinMs
  state.connectedAt = 0
  clearTimeout(state.timer)
  state.timer = setTimeout(() => attempt(state), state.pauseMs).unref()
  state.pauseMs = Math.min(state.pauseMs * 2, pauseMaxMs)
}

function report(state: State, next: { isConnected: boolean; error: string | null }) {
  const text = JSON.stringify(next)
  if (text === state.reported) return
  state.reported = text
  state.options.changed(next)
}

const drainMs = 3000
const drainStepMs = 20

async function stop(state: State, discard: boolean) {
  state.isStopped = true
  clearTimeout(state.timer)
  await Promise.race([state.connecting, sleep(drainMs)])
  const { connection } = state
  connection?.pause()
  // Messages that are being stored are acknowledged, so that the next node does not get them again.
  for (let waitedMs = 0; state.inFlight > 0 && connection?.isOpen && waitedMs < drainMs; waitedMs += drainStepMs)
    await sleep(drainStepMs)
  connection?.close()
  if (discard) await discardSession(state.options).catch(() => {})
}
