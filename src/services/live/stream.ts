/** One open stream: its subscriptions, the events that wait for the client, and its position, up to which all events were delivered. */
import type { Clock } from '../../kernel/clock.ts'
import type { ConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import type { Caller, Ctx } from '../../kernel/contract.ts'
import { PlatformError } from '../../kernel/errors.ts'
import type { GapReason, Live, LiveEvent } from '../../kernel/live/live.ts'
import { samePermissions } from '../../kernel/permissions.ts'
import { sameJson } from '../../kernel/same-json.ts'
import { timeOf } from '../../kernel/times.ts'
import { type Admission, type AdmissionDeps, admit } from './admission.ts'
import { historyFailed, subscriptionFailed } from './log-messages.ts'
import type { Pace } from './pace.ts'
import { createQueue, type Outlet, type Queue } from './queue.ts'
import type { SubscriptionRequest } from './schemas.ts'
import type { Subscription } from './subscription.ts'
import type { Values } from './values.ts'

interface Entry extends Subscription {
  admission: Admission | undefined
  /** Events that arrive while the history is read; undefined when the subscription is active. */
  waiting: LiveEvent[] | undefined
  close(): void
}

export interface Stream {
  readonly streamId: string
  readonly ctx: Ctx
  readonly subscriptions: ReadonlyMap<string, Subscription>
  readonly queuedBytes: number
  /** Replaces the subscriptions. `resumeFrom` is a position: microseconds since 1970. */
  subscribe(requests: SubscriptionRequest[], resumeFrom?: number): void
  /** Replaces the caller, and checks all subscriptions with its permissions. */
  setCaller(caller: Caller): Promise<void>
  /** Drops the events that wait for the client. */
  dropQueued(): void
  /**
   * Sends the position, so that a stream without events can be resumed too. Does nothing while events are queued, because the last of them
   * is sent with the position, and while a subscription is starting.
   */
  sendPosition(): void
  end(reason: string): void
}

export interface StreamDeps extends AdmissionDeps {
  live: Pick<Live, 'topics' | 'subscribe'>
  now: Clock
  /** Limits concurrent reads of histories. */
  historyLimit: ConcurrencyLimit
  pace: Pace
  values: Values
  countQueued(bytes: number): void
  countSent(topic: string, events: number): void
  countGap(reason: string): void
}

/** Maximum number of events in the history of a subscription. */
const historyMax = 5000
/** Maximum number of events that wait while the history of a subscription is read. */
const waitingMax = 10_000

interface State {
  deps: StreamDeps
  ctx: Ctx
  outlet: Outlet
  queue: Queue
  entries: Map<string, Entry>
  starting: number
  isClosed: boolean
}

export function createStream(deps: StreamDeps, streamId: string, ctx: Ctx, outlet: Outlet): Stream {
  const entries = new Map<string, Entry>()
  const position = () => (state.starting > 0 ? undefined : String(deps.now().getTime() * 1000))
  const { pace, countQueued, countSent } = deps
  const queue = createQueue({ outlet, pace, position, countQueued, countSent })
  const state: State = { deps, ctx, outlet, queue, entries, starting: 0, isClosed: false }
  outlet.onClose(() => {
    state.isClosed = true
    for (const entry of entries.values()) entry.close()
    entries.clear()
    queue.close()
  })
  outlet.send('open', JSON.stringify({ streamId }))
  return {
    streamId,
    get ctx() {
      return state.ctx
    },
    subscriptions: entries,
    get queuedBytes() {
      return queue.bytes
    },
    subscribe: (requests, resumeFrom) => subscribe(state, requests, resumeFrom),
    setCaller: (caller) => setCaller(state, caller),
    dropQueued: queue.drop,
    sendPosition: () => sendPosition(state),
    end: outlet.end,
  }
}

function sendPosition({ deps, outlet, queue, starting, isClosed }: State) {
  if (isClosed || starting > 0 || queue.bytes > 0 || queue.isBackedUp) return
  const at = deps.now()
  outlet.send('position', JSON.stringify({ at }), String(at.getTime() * 1000))
}

function subscribe(state: State, requests: SubscriptionRequest[], resumeFrom: number | undefined) {
  const { entries } = state
  const requestsById = new Map(requests.map((request) => [request.id, request]))
  for (const [id, entry] of entries) {
    const request = requestsById.get(id)
    if (request && sameJson(request, entry.request)) requestsById.delete(id)
    else {
      entry.close()
      entries.delete(id)
    }
  }
  for (const request of requestsById.values()) {
    const entry = entryOf(state, request)
    entries.set(request.id, entry)
    state.starting++
    void start(state, entry, sinceOf(state, entry, resumeFrom)).finally(() => {
      state.starting--
      sendPosition(state)
    })
  }
  if (requestsById.size === 0) sendPosition(state)
}

function entryOf({ deps, outlet }: State, request: SubscriptionRequest): Entry {
  const topic = deps.live.topics.get(request.topic)!
  const entry: Entry = {
    request,
    topic,
    admission: undefined,
    waiting: [],
    includes: (event) => entry.admission?.includes(event) ?? false,
    gap(reason) {
      deps.countGap(reason)
      outlet.send('gap', JSON.stringify({ subscription: request.id, topic: topic.name, reason }))
    },
    close() {},
  }
  return entry
}

/** Returns the time from which the history is read, in microseconds. Returns undefined if only new events are wanted. */
function sinceOf({ deps }: State, { request, topic }: Entry, resumeFrom: number | undefined): number | undefined {
  const { since } = request
  if (resumeFrom !== undefined) return resumeFrom - (topic.slackSeconds ?? 0) * 1_000_000
  const time = since === undefined ? undefined : timeOf(since, deps.now())
  if (time !== undefined) return time * 1000
  return topic.beginsWithHistory ? deps.now().getTime() * 1000 : undefined
}

/** Starts a subscription. Events are collected before the history is read, so that no event is lost in between. */
async function start(state: State, entry: Entry, since: number | undefined) {
  const { deps, ctx, outlet } = state
  const isGone = () => state.isClosed || state.entries.get(entry.request.id) !== entry
  try {
    entry.admission = await admit(deps, ctx, entry.topic, entry.request)
  } catch (error) {
    if (!isGone()) endSubscription(state, entry, error)
    return
  }
  if (isGone()) return
  if (entry.topic.value) return await startValue(state, entry, isGone)
  const { isComplete, close } = deps.live.subscribe(entry.topic.name, entry.admission.interests, {
    deliver: (event) => deliver(state, entry, event),
    gap: entry.gap,
  })
  entry.close = close
  const isAcknowledged = await isComplete
  const history = since === undefined ? [] : await historyOf(state, entry, since)
  if (isGone()) return
  outlet.send('subscribed', JSON.stringify({ subscription: entry.request.id, topic: entry.topic.name }))
  if (typeof history === 'string') entry.gap(history)
  if (!isAcknowledged) entry.gap('missed')
  const replayed = typeof history === 'string' ? [] : history.filter(entry.includes)
  const known = new Set(replayed.map(({ id }) => id))
  const waiting = entry.waiting!
  entry.waiting = undefined
  for (const event of replayed) state.queue.add(entry, event)
  for (const event of waiting) if (event.id === undefined || !known.has(event.id)) state.queue.add(entry, event)
}

/** Reads the value once, and ends the subscription if that fails. Then delivers the value whenever it has changed. */
async function startValue(state: State, entry: Entry, isGone: () => boolean) {
  const { deps, ctx, outlet, queue } = state
  const { request, topic, admission } = entry
  const query = { applicationName: request.applicationName, facets: admission!.facets }
  try {
    const { join } = await deps.values.open(topic, ctx, query)
    if (isGone()) return
    entry.waiting = undefined
    outlet.send('subscribed', JSON.stringify({ subscription: request.id, topic: topic.name }))
    entry.close = join((text) => queue.add(entry, { tenantId: ctx.tenantId, text }))
  } catch (error) {
    if (!isGone()) endSubscription(state, entry, error)
  }
}

function deliver({ queue }: State, entry: Entry, event: LiveEvent) {
  if (!entry.includes(event)) return
  if (!entry.waiting) return queue.add(entry, event)
  if (entry.waiting.length < waitingMax) entry.waiting.push(event)
  else if (entry.waiting.length === waitingMax) {
    entry.waiting = []
    entry.gap('too_slow')
  }
}

async function historyOf({ deps, ctx }: State, entry: Entry, since: number): Promise<LiveEvent[] | GapReason> {
  const { topic, request, admission } = entry
  if (!topic.history) return 'no_history'
  const query = {
    tenantIds: admission!.tenantIds,
    applicationName: request.applicationName,
    endpointIds: request.endpointIds,
    facets: admission!.facets,
    since,
    limit: historyMax,
  }
  try {
    return await deps.historyLimit.run(ctx.tenantId, () => topic.history!(query))
  } catch (error) {
    // A search that takes too long is rejected with 400.
    if (error instanceof PlatformError && error.status < 500) return 'too_many'
    historyFailed(ctx.log, { err: error, topic: topic.name, correlationId: ctx.correlationId })
    return 'missed'
  }
}

/** Ends one subscription with a reason. The other subscriptions continue. */
function endSubscription({ entries, outlet, ctx }: State, entry: Entry, error: unknown) {
  const { request, topic } = entry
  entry.close()
  entries.delete(request.id)
  const isExpected = error instanceof PlatformError && error.status < 500
  if (!isExpected) subscriptionFailed(ctx.log, { err: error, topic: topic.name, correlationId: ctx.correlationId })
  const { status, code, message } = isExpected
    ? error
    : { status: 503, code: 'unavailable', message: 'The platform cannot answer right now, try again' }
  outlet.send('ended', JSON.stringify({ subscription: request.id, topic: topic.name, status, code, message }))
}

async function setCaller(state: State, caller: Caller) {
  const { deps, entries } = state
  const ctx = { ...state.ctx, caller }
  const restart: Entry[] = []
  for (const entry of [...entries.values()])
    try {
      entry.admission = await admit(deps, ctx, entry.topic, entry.request)
      // With other permissions, the value may differ.
      if (entry.topic.value) restart.push(entry)
    } catch (error) {
      if (!(error instanceof PlatformError) || error.status >= 500) throw error
      if (entries.get(entry.request.id) === entry) endSubscription(state, entry, error)
    }
  const { caller: before } = state.ctx
  state.ctx = ctx
  // The list of permissions of a caller object can grow in place. If the object is the same, its earlier permissions are therefore unknown.
  if (caller === before || !samePermissions(caller.permissions, before.permissions))
    state.outlet.send('permissions', JSON.stringify({ at: deps.now() }))
  for (const entry of restart) {
    entry.close()
    await startValue(state, entry, () => state.isClosed || entries.get(entry.request.id) !== entry)
  }
}
