/**
 * Deliveries without a row: their event is stored, and runs again after a crash. A delivery that fails or takes long gets a row, so that
 * its event can end.
 */
import { monotonicMs, sleep } from '../../../kernel/clock.ts'
import { isDatabaseUnavailable } from '../../../kernel/db.ts'
import type { EndedOutcome } from '../actions/executor.ts'
import { deliveryFailed } from '../log-messages.ts'
import {
  type Accepted,
  type Entry,
  forget,
  keepContent,
  type NewDelivery,
  newEntry,
  rowOf,
  type State,
  settle,
  track,
  type Unstored,
} from './state.ts'
import type { EndedDelivery } from './writes.ts'

/**
 * Deliveries get a row after this time. It is long, because a busy node sends all webhooks late, and writing rows would make the node even
 * busier.
 */
const storeAfterMs = 500
const checkEveryMs = 100
const retryMs = 1000

type UnstoredEntry = Entry & { unstored: Unstored }

export const isUnstored = (entry: Entry): entry is UnstoredEntry => entry.unstored !== undefined

/** Sends a delivery whose event is stored. If this node crashes, the event runs again and adds the same delivery. */
export function addUnstored(state: State, delivery: NewDelivery): Accepted {
  const { promise, resolve: ended } = Promise.withResolvers<EndedOutcome>()
  const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
  const entry = { ...newEntry(delivery), ended, unstored: { since: monotonicMs(), settled, settle } }
  keepContent(state, entry, delivery.content)
  state.entries.set(entry.id, entry)
  state.unstored.set(entry.id, entry)
  state.storeTimer ??= setInterval(() => storeOld(state), checkEveryMs).unref()
  state.queue.push(entry)
  return { accepted: true, ended: promise, settled }
}

/** Stores the deliveries that have had no row for a long time. */
function storeOld(state: State) {
  const before = monotonicMs() - storeAfterMs
  for (const entry of state.unstored.values()) {
    if (entry.unstored.since > before) return
    void track(state, storeEntry(state, entry))
  }
  if (state.unstored.size > 0) return
  clearInterval(state.storeTimer)
  state.storeTimer = undefined
}

/** Inserts the row of a delivery. If the insert fails, the delivery stays without a row. */
export async function storeEntry(state: State, entry: UnstoredEntry) {
  const { unstored } = entry
  unstored.storing ??= insertEntry(state, entry)
    .catch((error) => {
      unstored.mayHaveRow = true
      throw error
    })
    .finally(() => {
      unstored.storing = undefined
    })
  await unstored.storing
}

async function insertEntry(state: State, entry: Entry) {
  if (!state.entries.has(entry.id)) return
  const { id, type, host, action, attemptsMax, waitMs, waitFactor } = entry
  const retries = { attemptsMax, waitMs, waitFactor }
  const isStored = await state.writes.insert(rowOf(state, { id, type, host, action, retries }, entry.content!))
  // Another node has taken over the event and added the delivery.
  if (!isStored) return forget(state, entry)
  settle(state, entry)
}

/** Writes the trace of a delivery that has ended without a row. */
export async function endUnstored(state: State, entry: UnstoredEntry, ended: EndedDelivery): Promise<true> {
  if (entry.unstored.mayHaveRow && (await state.writes.end(ended))) return true
  const written = state.traces.write(ended)
  // The ledger writes the trace of the rule after this trace, so the event can end.
  settle(state, entry)
  await written
  return true
}

/**
 * Inserts the row of a delivery that waits for its next attempt, as soon as the database is available. Returns false if the insert fails
 * for another reason.
 */
export async function storeForRetry(state: State, entry: UnstoredEntry): Promise<boolean> {
  for (;;)
    try {
      await storeEntry(state, entry)
      return true
    } catch (error) {
      deliveryFailed(state.kit.log, { err: error })
      if (!isDatabaseUnavailable(error)) return false
      await sleep(retryMs)
    }
}
