/**
 * Sends deliveries durably. A delivery is stored in a commit that several deliveries share, then sent by the node that stored it. Its
 * failed attempts and its end are also stored in shared commits. If a node dies, another node takes over its deliveries. A delivery whose
 * event is stored gets a row only if it takes long or fails (ADR 33).
 */
import { createDictionary } from '../../../kernel/dictionary.ts'
import { createOpenItems } from '../../../kernel/open-items.ts'
import type { EndedOutcome } from '../actions/executor.ts'
import { deliveryFailed } from '../log-messages.ts'
import { type Attempt, type AttemptOutcome, outcomeOf, waitAfter } from './model.ts'
import { createDeliveryQueue } from './queue.ts'
import {
  type Accepted,
  type DeliveriesDeps,
  type Entry,
  forget,
  hasRoomFor,
  keepContent,
  type Limits,
  type NewDelivery,
  newEntry,
  rowOf,
  type State,
  track,
  uncount,
} from './state.ts'
import * as store from './store.ts'
import { addUnstored, endUnstored, isUnstored, storeEntry, storeForRetry } from './unstored.ts'
import { createDeliveryWrites } from './writes.ts'

export interface Deliveries {
  /** Adds a delivery. Resolves when it is durable: as a row, or through its stored event, which adds the delivery again after a crash. */
  add(delivery: NewDelivery): Promise<Accepted>
  /** Drops the deliveries of a tenant that wait on this node. */
  dropTenant(tenantId: string): void
  stop(): Promise<void>
}

export const defaultLimits: Limits = { underWayPerHost: 16, waitingPerTenant: 10_000 }
const underWayPerTenant = 64
const underWayTotal = 512
const stopMs = 4000
const deliveriesPerTakeover = 1000

export function createDeliveries(deps: DeliveriesDeps): Deliveries {
  const { kit, limits = defaultLimits } = deps
  const { members, metrics } = kit
  const ended = metrics.counter('waypost_rule_deliveries_total', 'Number of webhooks and e-mails that ended.', [
    'type',
    'outcome',
  ])
  // A limit is divided by the number of nodes.
  const share = (limit: number) => Math.max(1, Math.floor(limit / (members.others().length + 1)))
  const queueLimits = {
    perHost: () => share(limits.underWayPerHost),
    perTenant: underWayPerTenant,
    total: underWayTotal,
  }
  const state: State = {
    ...deps,
    entries: createDictionary(),
    unstored: createDictionary(),
    storeTimer: undefined,
    counts: new Map(),
    contentBytes: 0,
    queue: createDeliveryQueue<Entry>(queueLimits, (entry) => track(state, attempt(state, entry))),
    writes: createDeliveryWrites(kit, deps.traces),
    sending: createOpenItems(),
    stopped: false,
    counted: (type, outcome) => ended.inc({ type, outcome }),
  }
  metrics.gauge(
    'waypost_rule_deliveries_waiting',
    'Number of webhooks and e-mails of this node that have not ended.',
    [],
    (gauge) => gauge.set(state.entries.size),
  )
  members.declareOwnedRows({
    name: 'rules.deliveries',
    owners: store.findOwners,
    sweep: (nodeId) => takeOver(state, nodeId),
  })
  members.onReturn(() => void dropLost(state).catch((error) => deliveryFailed(kit.log, { err: error })))
  return {
    add: (delivery) => add(state, delivery, share(limits.waitingPerTenant)),
    dropTenant: (tenantId) => drop(state, (entry) => entry.tenantId === tenantId),
    stop: () => stop(state),
  }
}

async function add(state: State, delivery: NewDelivery, waitingMax: number): Promise<Accepted> {
  const { id, action, storedEvent } = delivery
  const { tenantId } = action
  const known = state.entries.get(id)
  if (known) return { accepted: true, ...(known.unstored && { settled: known.unstored.settled }) }
  if (storedEvent === 'again' && (await state.traces.isEnded(action))) return { accepted: true }
  const count = state.counts.get(tenantId) ?? 0
  if (count >= waitingMax)
    return { accepted: false, reason: `the tenant already has ${count} waiting webhooks and e-mails, the maximum` }
  if (state.stopped) return { accepted: false, reason: 'the node is stopping' }
  state.counts.set(tenantId, count + 1)
  return storedEvent === 'first' && hasRoomFor(state, delivery.content)
    ? addUnstored(state, delivery)
    : await addStored(state, delivery)
}

async function addStored(state: State, delivery: NewDelivery): Promise<Accepted> {
  const { id, content, action } = delivery
  try {
    if (!(await state.writes.insert(rowOf(state, delivery, content))) || state.entries.has(id)) {
      uncount(state, action.tenantId)
      return { accepted: true }
    }
  } catch (error) {
    uncount(state, action.tenantId)
    throw error
  }
  const { promise, resolve } = Promise.withResolvers<EndedOutcome>()
  const entry: Entry = { ...newEntry(delivery), ended: resolve }
  if (hasRoomFor(state, content)) keepContent(state, entry, content)
  state.entries.set(id, entry)
  state.queue.push(entry)
  return { accepted: true, ended: promise }
}

/**
 * Makes one attempt to send a delivery. Its slot in the queue becomes free when the receiver has answered, even before the outcome is
 * written.
 */
async function attempt(state: State, entry: Entry) {
  const { kit, send } = state
  const { id, tenantId, type, action } = entry
  const content = entry.content ?? (await readContent(state, entry))
  if (content === undefined || !state.entries.has(id)) return forget(state, entry)
  const began = kit.now()
  const outcome = await send[type]({ id: action.deliveryId ?? id, tenantId }, content)
  const at = began.toISOString()
  const durationMs = kit.now().getTime() - began.getTime()
  const { ok, ...details } = outcome
  const { isFinal: _, ...shown } = { isFinal: true, ...details }
  entry.attempts.push({ at, durationMs, ...shown })
  const isLast = ok || outcome.isFinal || entry.attempts.length >= entry.attemptsMax
  void track(state, isLast ? end(state, entry, outcome) : waitForNext(state, entry, outcome))
}

async function readContent({ kit }: State, { id }: Entry): Promise<string | undefined> {
  const sealed = await store.findContent(kit.db.sql, kit.members.nodeId, id)
  return sealed === undefined ? undefined : kit.secrets.open(sealed)
}

async function end(state: State, entry: Entry, last: AttemptOutcome) {
  const outcome = await masked(
    state,
    entry.tenantId,
    outcomeOf(entry.action.deliveryId ?? entry.id, entry.attempts, last),
  )
  const durationMs = entry.attempts.reduce((sum, attempt) => sum + attempt.durationMs, 0)
  const ended = { id: entry.id, action: entry.action, outcome, durationMs }
  // If the insert of the row failed, the code that started the insert has reported the error.
  await entry.unstored?.storing?.catch(() => {})
  if (!state.entries.has(entry.id)) return
  const isOwn = isUnstored(entry) ? await endUnstored(state, entry, ended) : await state.writes.end(ended)
  forget(state, entry)
  if (!isOwn) return
  state.counted(entry.type, outcome.outcome)
  entry.ended?.(outcome)
}

/** Masks secrets in the reasons of failures. A reason may contain the host or the answer of a mail server. */
async function masked({ maskOf }: State, tenantId: string, outcome: EndedOutcome): Promise<EndedOutcome> {
  if (!maskOf || outcome.outcome === 'SUCCESS') return outcome
  const mask = await maskOf(tenantId)
  const attempts: Attempt[] = []
  for (const attempt of outcome.metadata!.attempts as Attempt[])
    attempts.push(attempt.reason === undefined ? attempt : { ...attempt, reason: await mask(attempt.reason) })
  return { ...outcome, reason: await mask(outcome.reason), metadata: { ...outcome.metadata, attempts } }
}

async function waitForNext(state: State, entry: Entry, last: AttemptOutcome) {
  const waitMs = waitAfter(entry, entry.attempts.length)
  if (isUnstored(entry) && !(await storeForRetry(state, entry))) return await end(state, entry, last)
  // Another node has taken over the delivery.
  if (!state.entries.has(entry.id)) return
  const isOwn = await state.writes.failed({ id: entry.id, attempts: JSON.stringify(entry.attempts), waitMs })
  if (!isOwn) return forget(state, entry)
  enqueueAfter(state, entry, waitMs)
}

function enqueueAfter(state: State, entry: Entry, waitMs: number) {
  if (state.stopped) return
  if (waitMs <= 0) return state.queue.push(entry)
  entry.timer = setTimeout(() => state.queue.push(entry), waitMs).unref()
}

/** Takes over the deliveries of a dead node. A delivery whose attempt was running on the dead node is sent once more. */
async function takeOver(state: State, from: string) {
  const { kit } = state
  for (let more = !state.stopped; more; ) {
    const taken = await store.takeOver(kit.db.sql, from, kit.members.nodeId, deliveriesPerTakeover)
    for (const { action, attempts, dueInMs, ...row } of taken) {
      const entry: Entry = { ...row, action: JSON.parse(action), attempts: JSON.parse(attempts), content: undefined }
      state.counts.set(row.tenantId, (state.counts.get(row.tenantId) ?? 0) + 1)
      state.entries.set(row.id, entry)
      enqueueAfter(state, entry, dueInMs)
    }
    more = taken.length === deliveriesPerTakeover && !state.stopped
  }
}

function drop(state: State, matches: (entry: Entry) => boolean) {
  state.queue.remove(matches)
  for (const entry of state.entries.values().filter(matches)) forget(state, entry)
}

/** Drops the deliveries of this node that other nodes took over when they considered this node dead. */
async function dropLost(state: State) {
  const { kit, entries } = state
  // If another node took over an event, it has stored the delivery. The insert then has no effect, and the entry is dropped.
  await Promise.all(state.unstored.values().map((entry) => storeEntry(state, entry)))
  const owned = new Set(await store.findOwned(kit.db.sql, kit.members.nodeId, entries.keys()))
  drop(state, ({ id, unstored }) => !unstored && !owned.has(id))
}

/** Waits for the attempts that are running. The other deliveries stay in the database for another node or the next start. */
async function stop(state: State) {
  state.stopped = true
  state.queue.stop()
  clearInterval(state.storeTimer)
  for (const entry of state.unstored.values()) void track(state, storeEntry(state, entry))
  for (const { timer } of state.entries.values()) clearTimeout(timer)
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((done) => {
    timer = setTimeout(done, stopMs)
  })
  while (state.sending.size > 0) if ((await Promise.race([Promise.all(state.sending), limit])) === undefined) break
  clearTimeout(timer)
  await state.writes.drained()
}
