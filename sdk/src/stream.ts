/** One stream for many topics: an async iterator that reconnects, resumes, and leaves out items that it has already delivered. */
import { WaypostError } from './errors.ts'
import { createMemory, isFinal, pointKeyOf, reasonOf, sleep } from './following.ts'
import { readOperation } from './operation.ts'
import { delayMsOf } from './retry.ts'
import type { Answer, Arguments, Operation, Options, ServerEvent } from './types.ts'

/** A topic with filters. `topics.list` lists the topics and their filters. */
export interface LiveSubscription {
  /** An id of your choice. The events of the subscription contain it. */
  id: string
  topic: string
  applicationName?: string | undefined
  endpointIds?: readonly string[] | undefined
  /** Begin with the items that were stored since this time, such as `now-1m`. */
  since?: string | undefined
  /** Deliver only the newest of the items that arrived since the last event; enough to know when to read the data again. Default: false. */
  newestOnly?: boolean | undefined
  [filter: string]: unknown
}

export type StreamEvent =
  /** The stream is connected. */
  | { type: 'open'; streamId: string; resumed: boolean }
  /** The subscription is active: later events are delivered. */
  | { type: 'subscribed'; subscription: string; topic: string }
  | { type: 'items'; subscription: string; topic: string; items: Record<string, unknown>[] }
  /** Items may be missing. Read them with the operation that lists them. */
  | { type: 'gap'; subscription: string; topic: string; reason: string }
  /** The subscription ended, for example because a permission was revoked. */
  | { type: 'ended'; subscription: string; topic: string; status: number; code: string; message: string }
  /** The permissions of the caller have changed. `me.get` returns the current permissions. */
  | { type: 'permissions' }
  /** The connection broke; the stream reconnects. */
  | { type: 'interrupted'; reason: string }

export interface LiveStream extends AsyncIterable<StreamEvent> {
  /** Replaces the subscriptions without a new connection. Unchanged subscriptions continue. */
  update(subscriptions: readonly LiveSubscription[]): Promise<void>
}

type Call = (operation: Operation, args: Arguments, options: Options) => Promise<Answer>

const watch = readOperation('streams', 'watch POST /live/api/v1/streams r ae hlast-event-id')
const update = readOperation('streams', 'update PUT /live/api/v1/streams/{streamId} r')

interface State {
  call: Call
  signal: AbortSignal | undefined
  subscriptions: readonly LiveSubscription[]
  /** The subscriptions that were last sent to the platform; undefined before the first connection. */
  sent: readonly LiveSubscription[] | undefined
  /** The running request that changes the subscriptions. */
  changing: Promise<void> | undefined
  streamId: string | undefined
  /** Aborts the current connection. */
  connection: AbortController
  lastId: string | undefined
  isNewId: (key: string) => boolean
  /** Delivered points are remembered separately, because their large number would displace the ids of other items. */
  isNewPoint: (key: string) => boolean
}

export function createStream(
  call: Call,
  subscriptions: readonly LiveSubscription[],
  { signal }: { signal?: AbortSignal | undefined } = {},
): LiveStream {
  const state: State = {
    call,
    signal,
    subscriptions,
    sent: undefined,
    changing: undefined,
    streamId: undefined,
    connection: new AbortController(),
    lastId: undefined,
    isNewId: createMemory(),
    isNewPoint: createMemory(),
  }
  return {
    [Symbol.asyncIterator]: () => follow(state, signal),
    async update(wanted) {
      const before = state.subscriptions
      state.subscriptions = wanted
      try {
        await change(state)
      } catch (error) {
        if (state.subscriptions === wanted) state.subscriptions = before
        throw error
      }
    },
  }
}

/**
 * Sends the subscriptions until the platform has the current subscriptions. Only one request runs at a time, so that the last update takes
 * effect.
 */
function change(state: State): Promise<void> {
  state.changing ??= sendChanges(state).finally(() => {
    state.changing = undefined
  })
  return state.changing
}

async function sendChanges(state: State) {
  while (state.streamId !== undefined && state.sent !== state.subscriptions) {
    const { call, signal, streamId, subscriptions, connection } = state
    try {
      await call(update, { streamId, body: { subscriptions } }, signal ? { signal } : {})
      state.sent = subscriptions
    } catch (error) {
      if (!(error instanceof WaypostError) || (error.status !== undefined && ![404, 503].includes(error.status)))
        throw error
      // The stream has ended, or its node has died. The next connection sends the new subscriptions.
      connection.abort()
      return
    }
  }
}

/** Follows the stream until it is stopped, or until the platform rejects it permanently. */
async function* follow(state: State, signal: AbortSignal | undefined): AsyncGenerator<StreamEvent, void, undefined> {
  let [failures, isOpen] = [0, false]
  while (!signal?.aborted) {
    let reason = 'the connection ended'
    try {
      for await (const event of eventsOf(state, signal)) {
        failures = 0
        if (event.event === 'end') {
          reason = reasonOf(event.data)
          break
        }
        const read = readEvent(state, event, isOpen)
        isOpen ||= read?.type === 'open'
        if (read) yield read
        // The id is stored after the reader has the event. If it were stored earlier, a reconnect in between would lose the event.
        state.lastId = event.id ?? state.lastId
      }
    } catch (error) {
      if (signal?.aborted) return
      if (isFinal(error)) throw error
      reason = error instanceof Error ? error.message : String(error)
    } finally {
      state.streamId = undefined
    }
    if (signal?.aborted) return
    yield { type: 'interrupted', reason }
    // Without an id the stream cannot resume, so items may be missing.
    if (isOpen && state.lastId === undefined)
      for (const { id, topic } of state.subscriptions) yield { type: 'gap', subscription: id, topic, reason: 'missed' }
    await sleep(delayMsOf(++failures, undefined, Math.random), signal ?? new AbortController().signal)
  }
}

/** Opens a connection and returns its events. */
async function* eventsOf(state: State, signal: AbortSignal | undefined): AsyncGenerator<ServerEvent> {
  const connection = new AbortController()
  state.connection = connection
  state.sent = state.subscriptions
  const stop = () => connection.abort()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const args = {
      body: { subscriptions: state.sent },
      ...(state.lastId !== undefined && { 'last-event-id': state.lastId }),
    }
    const answer = await state.call(watch, args, { signal: connection.signal })
    yield* answer.body as AsyncIterable<ServerEvent>
  } finally {
    connection.abort()
    signal?.removeEventListener('abort', stop)
  }
}

function readEvent(state: State, { event, data }: ServerEvent, isOpen: boolean): StreamEvent | undefined {
  const content = JSON.parse(data)
  if (event === 'open') {
    state.streamId = content.streamId
    // The subscriptions may have changed while the connection was opened. If the platform rejects the new subscriptions, the next
    // connection sends them again, and the caller gets the error of that connection.
    if (state.sent !== state.subscriptions) change(state).catch(() => state.connection.abort())
    return { type: 'open', streamId: content.streamId, resumed: isOpen }
  }
  if (event === 'permissions') return { type: event }
  if (event === 'subscribed' || event === 'gap' || event === 'ended') return { type: event, ...content }
  if (!Array.isArray(content.items)) return undefined
  const items = content.items.filter((item: Item) => isNew(state, content.subscription, event, item))
  return items.length > 0 ? { type: 'items', subscription: content.subscription, topic: event, items } : undefined
}

type Item = Record<string, unknown>

function isNew(state: State, subscription: string, topic: string, item: Item): boolean {
  if (typeof item.id === 'string') return state.isNewId(`${subscription}\n${item.id}`)
  if (topic !== 'series') return true
  const { endpointId, seriesName, timestamp, values } = item
  return state.isNewPoint(
    `${subscription}\n${pointKeyOf(String(endpointId), String(seriesName), String(timestamp), values)}`,
  )
}
