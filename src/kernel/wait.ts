/**
 * Waits until a row has the wanted state. A waiter registers and reads the row. It reads again when a node signals that the row has changed
 * or that signals may have been lost. It never polls. Reads of many waiters share statements. See ADR 19.
 */

import { createBatcher } from './batcher.ts'
import { monotonicMs, sleep } from './clock.ts'
import type { Ctx } from './contract.ts'
import { isDatabaseUnavailable, type Sql } from './db.ts'
import { createDeadlines, type Due } from './deadlines.ts'
import { CallerDisconnected, TooManyRequests } from './errors.ts'
import type { Metrics } from './metrics.ts'
import { type Address, defineSignal, type Signals } from './signals.ts'

/** The context of a caller that waits. */
export type WaitCtx = Pick<Ctx, 'tenantId' | 'signal' | 'onAbort'>

export interface Waits {
  /** Declares a kind of row, once per name. `read` returns the states of the existing rows by id. */
  define<T extends {}>(name: string, read: (ids: string[]) => Promise<ReadonlyMap<string, T>>): RowWaits<T>
  /** Number of waiters on this node. */
  readonly size: number
}

export interface RowWaits<T> {
  /**
   * Resolves with the state when `until` holds, or with undefined when the row is deleted. At the time limit, the request's deadline or the
   * stop of the process, resolves with the current state. Rejects with 429 at the limit of waiters, with `CallerDisconnected`, or with an
   * error of `read`.
   */
  wait(ctx: WaitCtx, id: string, options: WaitOptions<T>): Promise<T | undefined>
  /**
   * Runs `start`, which stores the row and returns its id and state. Then waits for the row without reading it again, and calls `ended`
   * with the outcome. The returned promise resolves when the wait has begun, so that only the waiter is in memory afterwards. It rejects if
   * `start` fails, and with 429 at the limit of waiters, which is checked before `start`, so that the caller has changed nothing.
   */
  startAndWait(ctx: WaitCtx, start: () => Promise<Started<T>>, caller: WaitingCaller<T>): Promise<void>
  /** Wakes the waiters of these rows when `sql` commits. If the row contains the node id of its waiter, only that node needs a signal. */
  changed(sql: Sql, changes: readonly RowChange<T>[]): Promise<void>
  /** Wakes the waiters of rows whose changes are committed, without signals to other nodes. Call it only if no other node is alive. */
  changedHere(changes: readonly RowChange<T>[]): void
  /** Makes the waiters of a row on this node read it again. */
  wake(id: string): void
}

export interface WaitOptions<T> {
  until(state: T): boolean
  limitMs: number
}

export interface Started<T> {
  id: string
  state: T
  limitMs: number
}

export interface WaitingCaller<T> {
  until(state: T): boolean
  /** Called once, at the end of a wait that has begun. It must not throw. */
  ended(outcome: Outcome<T>): void
}

/** A state, undefined if the row was deleted, or the error with which the wait ended. */
export type Outcome<T> = { id: string; state: T | undefined; error?: never } | { id: string; error: unknown }

export interface RowChange<T = unknown> {
  id: string
  /** The nodes to signal. `all` is for rows that administrators change, which happens rarely. */
  to: Exclude<Address, `any/${string}`>
  /** The state after the commit, as JSON. Waiters use it instead of reading the row; other nodes get it only if it is small. */
  state?: T
}

/** `states` has a state for each id. A state is null if the receiver must read the row. */
const RowsChanged = defineSignal<{ name: string; ids: string[]; states: unknown[] }>('kernel.rows-changed')

/** Maximum length of a state that is sent to other nodes. Larger states are read by the node that needs them. */
const sentStateLengthMax = 500

const defaultLimits = { perTenant: 10_000, total: 20_000 }
const idsPerRead = 500
const retryMs = 500
interface Deps {
  nodeId: string
  signals: Pick<Signals, 'sendEach' | 'on' | 'onReset'>
  /** Aborts when the process stops. */
  stopping: AbortSignal
  metrics?: Metrics
  limits?: typeof defaultLimits
}

export function createWaits({ nodeId, signals, stopping, metrics, limits = defaultLimits }: Deps): Waits {
  const counts = createCounts(limits)
  const kinds = new Map<string, Kind<never>>()
  // One collection of deadlines serves the waiters of all kinds.
  const deadlines = createDeadlines<Waiter<never>>((waiter) => {
    waiter.isExpired = true
    wake(waiter)
  })
  const wakeAll = () => {
    for (const { starts, rows } of kinds.values()) {
      starts.reset()
      for (const first of [...rows.values()]) wakeRow(first)
    }
  }

  signals.on(RowsChanged, ({ name, ids, states }) => {
    const kind = kinds.get(name)
    if (kind) for (const [index, id] of ids.entries()) rowChanged(kind, id, (states?.[index] ?? undefined) as never)
  })
  signals.onReset(wakeAll)
  stopping.addEventListener('abort', wakeAll)
  metrics?.gauge('waypost_waiters', 'Number of callers that wait for a row to change.', [], (gauge) =>
    gauge.set(counts.size),
  )

  return {
    get size() {
      return counts.size
    },
    define<T extends {}>(name: string, read: (ids: string[]) => Promise<ReadonlyMap<string, T>>): RowWaits<T> {
      if (kinds.has(name)) throw new Error(`waits for "${name}" are defined twice`)
      const readOne = createBatcher<string, T>(async (ids) => {
        const states = await read([...new Set(ids)])
        return ids.map((id) => states.get(id))
      }, idsPerRead)
      const kind: Kind<T> = { readOne, rows: new Map(), starts: createStarts(), deadlines, counts, stopping }
      kinds.set(name, kind as unknown as Kind<never>)
      return {
        async wait(ctx, id, { until, limitMs }) {
          if (CallerDisconnected.is(ctx.signal.reason)) throw ctx.signal.reason
          counts.add(ctx.tenantId)
          const outcome = await new Promise<Outcome<T>>((ended) => begin(kind, ctx, { id, limitMs }, { until, ended }))
          if ('error' in outcome) throw outcome.error
          return outcome.state
        },
        async startAndWait(ctx, start, caller) {
          counts.add(ctx.tenantId)
          const starting = kind.starts.begin()
          let started: Started<T>
          try {
            started = await start()
          } catch (error) {
            counts.remove(ctx.tenantId)
            throw error
          } finally {
            starting.end()
          }
          const { id, state, limitMs } = started
          if (limitMs > 0 && !caller.until(state)) {
            // The state that `start` returned replaces the first read, unless the row has changed since.
            begin(kind, ctx, started, caller, starting.hasChanged(id) ? undefined : state)
          } else {
            counts.remove(ctx.tenantId)
            caller.ended({ id, state })
          }
        },
        changed: (sql, changes) =>
          changes.length === 0
            ? Promise.resolve()
            : signals.sendEach(
                sql,
                RowsChanged,
                [...Map.groupBy(changes, ({ to }) => to)].map(([to, ofNode]) => ({
                  to,
                  payload: {
                    name,
                    ids: ofNode.map(({ id }) => id),
                    states: ofNode.map(({ state }) => (to === `node/${nodeId}` || isSmall(state) ? state : null)),
                  },
                })),
              ),
        changedHere(changes) {
          for (const { id, state } of changes) rowChanged(kind, id, state)
        },
        wake(id) {
          const first = kind.rows.get(id)
          if (first) wakeRow(first)
        },
      }
    },
  }
}

const isSmall = (state: unknown) => state !== undefined && JSON.stringify(state).length <= sentStateLengthMax

/** The waiters of one kind of row, and what they share. */
interface Kind<T> {
  readOne(id: string): Promise<T | undefined>
  /** The first waiter of each row. Further waiters of the row follow it. */
  rows: Map<string, Waiter<T>>
  starts: ReturnType<typeof createStarts>
  deadlines: { add(waiter: Waiter<T>): void; remove(waiter: Waiter<T>): void }
  counts: ReturnType<typeof createCounts>
  stopping: AbortSignal
}

/** A waiter is one object, and no function is suspended while it waits, because many thousands of callers can wait at the same time. */
interface Waiter<T> extends Due {
  kind: Kind<T>
  id: string
  tenantId: string
  caller: WaitingCaller<T>
  /** The next waiter of the same row. */
  next: Waiter<T> | undefined
  /** The state that the last `wake` passed. It replaces the next read. */
  nextState: T | undefined
  /** The reason why `ctx.signal` has aborted. */
  abortReason: unknown
  stopListening: (() => void) | undefined
  isExpired: boolean
  isWakePending: boolean
  isReading: boolean
  isEnded: boolean
}

function begin<T extends {}>(
  kind: Kind<T>,
  ctx: WaitCtx,
  { id, limitMs }: { id: string; limitMs: number },
  caller: WaitingCaller<T>,
  first?: T,
) {
  const waiter: Waiter<T> = {
    kind,
    id,
    tenantId: ctx.tenantId,
    caller,
    dueAt: monotonicMs() + limitMs,
    place: -1,
    next: kind.rows.get(id),
    nextState: first,
    abortReason: undefined,
    stopListening: undefined,
    isExpired: limitMs <= 0,
    isWakePending: false,
    isReading: false,
    isEnded: false,
  }
  kind.rows.set(id, waiter)
  kind.deadlines.add(waiter)
  waiter.stopListening = onAbort(ctx, (reason) => {
    waiter.abortReason = reason
    wake(waiter)
  })
  // A listener of a context that has aborted is called at once.
  if (waiter.isEnded) waiter.stopListening()
  else wake(waiter, first)
}

function onAbort(ctx: WaitCtx, listener: (reason: unknown) => void): () => void {
  if (ctx.onAbort) return ctx.onAbort(listener)
  const { signal } = ctx
  const aborted = () => listener(signal.reason)
  if (signal.aborted) aborted()
  else signal.addEventListener('abort', aborted)
  return () => signal.removeEventListener('abort', aborted)
}

function rowChanged<T extends {}>({ rows, starts }: Kind<T>, id: string, state: T | undefined) {
  const first = rows.get(id)
  if (first) wakeRow(first, state)
  else starts.changed(id)
}

function wakeRow<T extends {}>(first: Waiter<T>, state?: T) {
  // A waiter that ends leaves the list, so the next one is read first.
  for (let waiter: Waiter<T> | undefined = first; waiter; ) {
    const { next }: Waiter<T> = waiter
    wake(waiter, state)
    waiter = next
  }
}

/** Lets the waiter check its row. With a state, it does not read the row. */
function wake<T extends {}>(waiter: Waiter<T>, state?: T) {
  waiter.nextState = state
  waiter.isWakePending = true
  if (!waiter.isReading && !waiter.isEnded) void check(waiter)
}

/**
 * Checks the row until nothing has changed during the check. Reads that fail while the database is unreachable are repeated until the wait
 * is over.
 */
async function check<T extends {}>(waiter: Waiter<T>) {
  const { kind, id, caller } = waiter
  waiter.isReading = true
  while (waiter.isWakePending) {
    waiter.isWakePending = false
    const isLast = waiter.isExpired || waiter.abortReason !== undefined || kind.stopping.aborted
    try {
      if (CallerDisconnected.is(waiter.abortReason)) return end(waiter, { id, error: waiter.abortReason })
      const given = waiter.nextState
      waiter.nextState = undefined
      const state = given ?? (await kind.readOne(id))
      if (CallerDisconnected.is(waiter.abortReason)) return end(waiter, { id, error: waiter.abortReason })
      if (state === undefined || isLast || caller.until(state)) return end(waiter, { id, state })
    } catch (error) {
      if (isLast || !isDatabaseUnavailable(error)) return end(waiter, { id, error })
      void sleep(retryMs).then(() => wake(waiter))
    }
  }
  waiter.isReading = false
}

function end<T>(waiter: Waiter<T>, outcome: Outcome<T>) {
  const { kind, id, tenantId, caller } = waiter
  waiter.isEnded = true
  leaveRow(kind.rows, id, waiter)
  kind.deadlines.remove(waiter)
  waiter.stopListening?.()
  kind.counts.remove(tenantId)
  caller.ended(outcome)
}

function leaveRow<T>(rows: Map<string, Waiter<T>>, id: string, waiter: Waiter<T>) {
  const first = rows.get(id)!
  if (first === waiter) {
    if (waiter.next) rows.set(id, waiter.next)
    else rows.delete(id)
    return
  }
  let before = first
  while (before.next !== waiter) before = before.next!
  before.next = waiter.next
}

const startMs = 1000

/**
 * Records which rows change while callers store their rows, because a signal may arrive before its waiter is registered. Two sets, each for
 * one second, are enough: if storing a row takes longer, the row is read in any case.
 */
function createStarts() {
  let running = 0
  let [current, previous] = [new Set<string>(), new Set<string>()]
  let since = 0
  let resets = 0
  return {
    begin() {
      running++
      const began = monotonicMs()
      const resetsBefore = resets
      return {
        end() {
          running--
        },
        hasChanged: (id: string) =>
          resets !== resetsBefore || monotonicMs() - began > startMs || current.has(id) || previous.has(id),
      }
    },
    changed(id: string) {
      if (running === 0) return
      const now = monotonicMs()
      if (now - since > startMs) {
        previous = current
        current = new Set()
        since = now
      }
      current.add(id)
    },
    reset() {
      resets++
    },
  }
}

function createCounts({ perTenant, total }: typeof defaultLimits) {
  const byTenant = new Map<string, number>()
  let size = 0
  return {
    get size() {
      return size
    },
    add(tenantId: string) {
      const count = byTenant.get(tenantId) ?? 0
      if (count >= perTenant || size >= total)
        throw TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })
      byTenant.set(tenantId, count + 1)
      size++
    },
    remove(tenantId: string) {
      const count = byTenant.get(tenantId)! - 1
      if (count > 0) byTenant.set(tenantId, count)
      else byTenant.delete(tenantId)
      size--
    },
  }
}
