/**
 * Runs the stored events of this node. Events of one endpoint run in order, events of different endpoints in parallel, with a limit for
 * each tenant. Events that do not fit into memory stay in the database until there is room.
 */

import { sleep } from '../../../../kernel/clock.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { createDictionary, type Dictionary } from '../../../../kernel/dictionary.ts'
import { createOpenItems, type OpenItems } from '../../../../kernel/open-items.ts'
import { waitingEventsFailed } from '../../log-messages.ts'
import { findFirstBlockers, findRows } from '../store/events.ts'
import type { StoredRow } from './recorder.ts'
import { bucketOf, type RuleEvent } from './rule-event.ts'

export interface QueueOptions {
  kit: Pick<Kit, 'db' | 'log'> & { members: Pick<Kit['members'], 'nodeId' | 'isAlone'> }
  /** Runs an event for its rules. Rejects only if the process stops. The row can end only when the returned promises have resolved too. */
  run(row: StoredRow, event: RuleEvent): Promise<Promise<void>[]>
  /** Called when all events of a row have ended. Resolves when the end is stored durably. */
  ended(row: StoredRow): Promise<void>
  /** Ends the events of a row as failed without running them, because too many events wait. */
  reject(row: StoredRow): Promise<void>
  limits?: QueueLimits
}

export interface QueueLimits {
  /** Maximum number of a tenant's events that wait on this node, in memory and in the database. Further events fail. */
  waiting: number
  /** Maximum size of a tenant's events in memory, in bytes. */
  bytes: number
}

export interface Queue {
  add(rows: StoredRow[]): void
  /** Reads the rows of a tenant that this node has taken over from dead nodes. */
  load(tenantId: string): void
  /** Number of events that wait or run. */
  readonly size: number
  /** Resolves when no event waits or runs. */
  settled(): Promise<void>
  stop(): Promise<void>
}

/** Maximum number of running events of a tenant. More would not run faster, because the sandbox limits the threads of a tenant. */
const runningPerTenant = 256
const defaultLimits: QueueLimits = { waiting: 100_000, bytes: 8 * 1024 * 1024 }
const rowsPerLoad = 50
const recheckMs = 50
const settleMs = 2000

interface Item {
  row: Held
  event: RuleEvent
  /** False while an earlier event of the endpoint runs on another node. */
  isOpen: boolean
}

/** The waiting events of one endpoint, in the order of the ids of their rows. Events without an endpoint have a lane for each trigger. */
interface Lane {
  items: Item[]
  isRunning: boolean
}

/** A row in memory. */
interface Held {
  row: StoredRow
  /** Number of events that have not ended. */
  left: number
}

interface Tenant {
  id: string
  lanes: Dictionary<Lane>
  /** Lanes whose first event could run. */
  ready: Lane[]
  /**
   * Events whose endpoint may have earlier events on other nodes. `unchecked` are not checked yet; `blocked` had to wait at the last check.
   */
  unchecked: Item[]
  blocked: Item[]
  isChecking: boolean
  running: number
  bytes: number
  /** Rows in memory, including those whose end is being written. */
  held: Set<number>
  /** True if rows of the tenant may be in the database only. */
  hasMore: boolean
  isLoading: boolean
  /** Number of times that rows were left to the database. A read that began before the last time may have missed these rows. */
  leftToDatabase: number
  waiting: number
  /** Number of the tenant's events that belong to this node and are only in the database. */
  unloaded: number
}

export function createQueue(options: QueueOptions): Queue {
  const tenants = new Map<string, Tenant>()
  const writes = createOpenItems<Promise<void>>()
  const running = createOpenItems<Promise<void>>()
  const written = createOpenItems<Promise<void>>()
  const { limits = defaultLimits } = options
  const state = { options, limits, tenants, writes, running, written, size: 0, isStopped: false }
  return {
    add(rows) {
      for (const row of rows) addRow(state, row)
    },
    load(tenantId) {
      readFromDatabase(state, tenantOf(state, tenantId))
    },
    get size() {
      return state.size
    },
    async settled() {
      while (state.size > 0 || writes.size > 0 || [...tenants.values()].some(({ hasMore }) => hasMore)) await sleep(5)
    },
    async stop() {
      state.isStopped = true
      await Promise.all(running)
      // Webhooks without a row get a row or a trace within a fraction of a second, unless the database is unreachable. Then their events
      // run again.
      if (written.size > 0) await Promise.race([Promise.all(written), sleep(settleMs)])
      await Promise.all(writes)
    },
  }
}

interface State {
  options: QueueOptions
  limits: QueueLimits
  tenants: Map<string, Tenant>
  /** Ends of rows that are being written. */
  writes: OpenItems<Promise<void>>
  running: OpenItems<Promise<void>>
  /** Events that have run, and whose traces are not in the ledger yet. */
  written: OpenItems<Promise<void>>
  size: number
  isStopped: boolean
}

function tenantOf({ tenants }: State, id: string): Tenant {
  let tenant = tenants.get(id)
  if (!tenant) {
    tenant = {
      id,
      lanes: createDictionary(),
      ready: [],
      unchecked: [],
      blocked: [],
      isChecking: false,
      running: 0,
      bytes: 0,
      held: new Set(),
      hasMore: false,
      isLoading: false,
      leftToDatabase: 0,
      waiting: 0,
      unloaded: 0,
    }
    tenants.set(id, tenant)
  }
  return tenant
}

/** Adds a row to memory. If there is no room, the row is read from the database later. */
function addRow(state: State, row: StoredRow) {
  const tenant = tenantOf(state, row.tenantId)
  if (state.isStopped || tenant.held.has(row.id)) return
  if (tenant.waiting + tenant.unloaded >= state.limits.waiting) return rejectRow(state, tenant, row)
  if (tenant.hasMore || tenant.bytes > state.limits.bytes) {
    tenant.unloaded += row.events.length
    return readFromDatabase(state, tenant)
  }
  keepInMemory(state, tenant, row)
}

function keepInMemory(state: State, tenant: Tenant, row: StoredRow) {
  tenant.held.add(row.id)
  tenant.bytes += row.bytes
  tenant.waiting += row.events.length
  state.size += row.events.length
  const held: Held = { row, left: row.events.length }
  if (held.left === 0) return endRow(state, tenant, held)
  const isGated = row.isTakenOver || !state.options.kit.members.isAlone()
  for (const event of row.events) {
    const item: Item = { row: held, event, isOpen: !isGated || !event.endpoint }
    insertItem(tenant, item)
    if (!item.isOpen) tenant.unchecked.push(item)
  }
  void openGates(state, tenant)
  startReadyEvents(state, tenant)
}

const laneKeyOf = ({ endpoint, triggerId = '' }: RuleEvent) => endpoint?.endpointId ?? `trigger ${triggerId}`

/** Inserts an event in the order of rows, so that an event that was taken over comes before later events of this node. */
function insertItem(tenant: Tenant, item: Item) {
  const key = laneKeyOf(item.event)
  let lane = tenant.lanes.get(key)
  if (!lane) {
    lane = { items: [], isRunning: false }
    tenant.lanes.set(key, lane)
  }
  const { items } = lane
  let at = items.length
  while (at > 0 && items[at - 1]!.row.row.id > item.row.row.id) at--
  items.splice(at, 0, item)
  if (!lane.isRunning && items[0]!.isOpen) tenant.ready.push(lane)
}

/**
 * Lets events run whose endpoints have no earlier events on other nodes. Other events are blocked, and are checked again after a pause. One
 * statement checks all waiting events, because a thousand single checks would keep the database busy.
 */
async function openGates(state: State, tenant: Tenant) {
  if (tenant.isChecking) return
  tenant.isChecking = true
  while (tenant.unchecked.length > 0 && !state.isStopped) {
    const items = tenant.unchecked.splice(0)
    try {
      const blocked = await blockedOf(state, tenant, items)
      for (const item of items) if (!blocked.has(item)) openItem(tenant, item)
      startReadyEvents(state, tenant)
      if (blocked.size > 0) checkAgainLater(state, tenant, blocked)
    } catch (error) {
      tenant.unchecked.push(...items)
      waitingEventsFailed(state.options.kit.log, { err: error, tenantId: tenant.id })
      await sleep(1000)
    }
  }
  tenant.isChecking = false
}

const bucketOfItem = ({ event }: Item) => bucketOf(event.endpoint?.endpointId ?? '')

async function blockedOf({ options }: State, tenant: Tenant, items: Item[]): Promise<Set<Item>> {
  const { db, members } = options.kit
  const firstBlockers = await findFirstBlockers(db.sql, {
    tenantId: tenant.id,
    nodeId: members.nodeId,
    buckets: [...new Set(items.map(bucketOfItem))],
    before: items.reduce((last, { row }) => Math.max(last, row.row.id), 0),
  })
  return new Set(
    items.filter((item) => (firstBlockers.get(bucketOfItem(item)) ?? Number.POSITIVE_INFINITY) < item.row.row.id),
  )
}

function openItem(tenant: Tenant, item: Item) {
  item.isOpen = true
  const lane = tenant.lanes.get(laneKeyOf(item.event))
  if (lane && !lane.isRunning && lane.items[0] === item) tenant.ready.push(lane)
}

function checkAgainLater(state: State, tenant: Tenant, blocked: Set<Item>) {
  const isScheduled = tenant.blocked.length > 0
  tenant.blocked.push(...blocked)
  if (isScheduled) return
  setTimeout(() => {
    tenant.unchecked.push(...tenant.blocked.splice(0))
    void openGates(state, tenant)
  }, recheckMs).unref()
}

/** Starts events of lanes that are ready, up to the tenant's limit of running events. */
function startReadyEvents(state: State, tenant: Tenant) {
  while (tenant.running < runningPerTenant && tenant.ready.length > 0 && !state.isStopped) {
    const lane = tenant.ready.shift()!
    const item = lane.items[0]
    // A lane may be in the list twice.
    if (lane.isRunning || !item?.isOpen) continue
    lane.items.shift()
    lane.isRunning = true
    tenant.running++
    const run = runItem(state, tenant, lane, item).finally(() => remove())
    const remove = state.running.add(run)
  }
}

async function runItem(state: State, tenant: Tenant, lane: Lane, { row: held, event }: Item) {
  let written: Promise<void>[] | undefined
  try {
    written = await state.options.run(held.row, event)
  } catch (error) {
    if (!state.isStopped) waitingEventsFailed(state.options.kit.log, { err: error, tenantId: tenant.id })
  }
  tenant.running--
  lane.isRunning = false
  if (lane.items.length === 0) tenant.lanes.delete(laneKeyOf(event))
  else if (lane.items[0]!.isOpen) tenant.ready.push(lane)
  if (!written) return
  tenant.waiting--
  if (written.length === 0) endEvent(state, tenant, held)
  else {
    const ended = Promise.all(written).then(() => {
      remove()
      endEvent(state, tenant, held)
    })
    const remove = state.written.add(ended)
  }
  startReadyEvents(state, tenant)
}

function endEvent(state: State, tenant: Tenant, held: Held) {
  state.size--
  held.left--
  if (held.left === 0) endRow(state, tenant, held)
}

function endRow(state: State, tenant: Tenant, { row }: Held) {
  tenant.bytes -= row.bytes
  track(state, tenant, row.id, state.options.ended(row))
}

/** Remembers a row until its end is durable, so that the row is not read from the database again. */
function track(state: State, tenant: Tenant, id: number, write: Promise<void>) {
  const done = write
    .catch((error) => waitingEventsFailed(state.options.kit.log, { err: error, tenantId: tenant.id }))
    .finally(() => {
      remove()
      tenant.held.delete(id)
      if (tenant.hasMore) loadMore(state, tenant)
      else if (tenant.held.size === 0 && tenant.lanes.size === 0) state.tenants.delete(tenant.id)
    })
  const remove = state.writes.add(done)
}

function rejectRow(state: State, tenant: Tenant, row: StoredRow) {
  tenant.held.add(row.id)
  track(state, tenant, row.id, state.options.reject(row))
}

/** Reads rows that are committed but not in memory, as soon as there is room for them. */
function readFromDatabase(state: State, tenant: Tenant) {
  tenant.hasMore = true
  tenant.leftToDatabase++
  loadMore(state, tenant)
}

/** Reads rows of the tenant from the database when half of its memory limit is free. */
function loadMore(state: State, tenant: Tenant) {
  if (tenant.isLoading || state.isStopped || tenant.bytes > state.limits.bytes / 2) return
  tenant.isLoading = true
  void readRows(state, tenant).finally(() => {
    tenant.isLoading = false
    if (tenant.hasMore) loadMore(state, tenant)
  })
}

async function readRows(state: State, tenant: Tenant) {
  const { db, members, log } = state.options.kit
  const query = { nodeId: members.nodeId, tenantId: tenant.id, held: [...tenant.held], limit: rowsPerLoad }
  const { leftToDatabase } = tenant
  try {
    const rows = await findRows(db.sql, query)
    if (rows.length < rowsPerLoad && tenant.leftToDatabase === leftToDatabase)
      [tenant.hasMore, tenant.unloaded] = [false, 0]
    for (const { content, ...row } of rows)
      if (!tenant.held.has(row.id) && !state.isStopped) {
        const events = JSON.parse(content) as RuleEvent[]
        tenant.unloaded = Math.max(0, tenant.unloaded - events.length)
        keepInMemory(state, tenant, { ...row, events, bytes: content.length })
      }
  } catch (error) {
    if (state.isStopped) return
    waitingEventsFailed(log, { err: error, tenantId: tenant.id })
    await sleep(1000)
  }
}
