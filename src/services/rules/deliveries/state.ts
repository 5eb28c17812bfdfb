/** The deliveries that a node has to send, in memory. */
import type { Kit } from '../../../kernel/define-service.ts'
import type { Dictionary } from '../../../kernel/dictionary.ts'
import type { OpenItems } from '../../../kernel/open-items.ts'
import type { ActionRun, EndedOutcome } from '../actions/executor.ts'
import type { EndedActions, PendingAction } from '../engine/traces.ts'
import { deliveryFailed } from '../log-messages.ts'
import type { Attempt, DeliveryType, Retries, Send } from './model.ts'
import type { DeliveryQueue } from './queue.ts'
import type * as store from './store.ts'
import type { DeliveryWrites } from './writes.ts'

export interface NewDelivery {
  /** Id of the delivery. If the event runs again, the same action for the same endpoint has the same id. */
  id: string
  type: DeliveryType
  host: string
  /** The content to send, as JSON text. */
  content: string
  action: PendingAction
  retries: Retries
  /** Present if the event of the action is stored. */
  storedEvent?: ActionRun['storedEvent']
}

export type Accepted =
  /**
   * `ended` resolves when this node has ended the delivery. `settled` is present if the delivery is not stored yet; it resolves when a
   * crash can no longer lose it.
   */
  | { accepted: true; ended: Promise<EndedOutcome>; settled?: Promise<void> }
  /** An earlier run of the same event has already added the delivery. */
  | { accepted: true; ended?: undefined; settled?: Promise<void> }
  | { accepted: false; reason: string }

export interface Limits {
  underWayPerHost: number
  waitingPerTenant: number
}

export interface DeliveriesDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'members' | 'secrets' | 'metrics' | 'log' | 'now'>
  traces: EndedActions
  send: Record<DeliveryType, Send>
  /** Returns a function that masks the secrets of a tenant. */
  maskOf?(tenantId: string): Promise<(text: string) => Promise<string>>
  limits?: Limits
}

/** A delivery that this node has to send. */
export interface Entry extends Retries {
  id: string
  tenantId: string
  type: DeliveryType
  host: string
  action: PendingAction
  attempts: Attempt[]
  /** Absent if the content must be read from the database. */
  content: string | undefined
  /** Present while the delivery waits for its next attempt. */
  timer?: NodeJS.Timeout
  ended?(outcome: EndedOutcome): void
  /** Present while the delivery has no row. */
  unstored?: Unstored | undefined
}

export interface Unstored {
  /** Time at which the delivery was added, in monotonic milliseconds. */
  since: number
  settled: Promise<void>
  settle(): void
  /** Present while the row is being stored. */
  storing?: Promise<void> | undefined
  /** True if storing the row reported an error. The commit may have succeeded nevertheless. */
  mayHaveRow?: boolean
}

export interface State extends DeliveriesDeps {
  entries: Dictionary<Entry>
  /** The entries without a row, oldest first. */
  unstored: Dictionary<Entry & { unstored: Unstored }>
  storeTimer: NodeJS.Timeout | undefined
  /** Number of deliveries of each tenant that have not ended, including deliveries that are being stored. */
  counts: Map<string, number>
  contentBytes: number
  queue: DeliveryQueue<Entry>
  writes: DeliveryWrites
  sending: OpenItems<Promise<void>>
  stopped: boolean
  counted(type: string, outcome: string): void
}

/** Maximum size of the contents that this node keeps in memory until they are sent. Further contents are read from the database. */
const contentBytesMax = 64 * 1024 * 1024

export const hasRoomFor = ({ contentBytes }: State, content: string) => contentBytes + content.length <= contentBytesMax

export const newEntry = ({ id, type, host, action, retries }: NewDelivery): Entry => ({
  id,
  tenantId: action.tenantId,
  type,
  host,
  action,
  ...retries,
  attempts: [],
  content: undefined,
})

export const rowOf = (
  { kit }: State,
  { id, type, host, action, retries }: Pick<NewDelivery, 'id' | 'type' | 'host' | 'action' | 'retries'>,
  content: string,
): store.NewDelivery => ({
  id,
  tenantId: action.tenantId,
  type,
  host,
  content: kit.secrets.seal(content),
  action: JSON.stringify(action),
  ...retries,
})

/** Marks a delivery as safe: a crash can no longer lose it. */
export function settle(state: State, entry: Entry) {
  state.unstored.delete(entry.id)
  entry.unstored?.settle()
  entry.unstored = undefined
}

export function uncount(state: State, tenantId: string) {
  const count = state.counts.get(tenantId)! - 1
  if (count > 0) state.counts.set(tenantId, count)
  else state.counts.delete(tenantId)
}

export function keepContent(state: State, entry: Entry, content: string) {
  entry.content = content
  state.contentBytes += content.length
}

export function forget(state: State, entry: Entry) {
  if (!state.entries.delete(entry.id)) return
  settle(state, entry)
  state.contentBytes -= entry.content?.length ?? 0
  clearTimeout(entry.timer)
  uncount(state, entry.tenantId)
}

export function track(state: State, work: Promise<void>): Promise<void> {
  const tracked = work.catch((error) => deliveryFailed(state.kit.log, { err: error })).finally(() => remove())
  const remove = state.sending.add(tracked)
  return tracked
}
