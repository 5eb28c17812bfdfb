/**
 * Waits until a row has the wanted state. A waiter registers and reads the row. It reads again when a node signals that the row has changed
 * or that signals may have been lost. It never polls. Reads of many waiters share statements. See ADR 19.
 */

import { createBatcher } from './batcher.ts'
import { monotonicMs, sleep } from './clock.ts'
import type { Ctx } from './contract.ts'
import { isDatabaseUnavailable, type Sql } from './db.ts'
import { CallerDisconnected, TooManyRequests } from './errors.ts'
import type { Metrics } from './metrics.ts'
import { type Address, defineSignal, type Signals } from './signals.ts'

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
  wait(ctx: Pick<Ctx, 'tenantId' | 'signal'>, id: string, options: WaitOptions<T>): Promise<T | undefined>
  /**
   * Runs `start`, which stores the row and returns its id and state. Then waits for the row without reading it again. The limit of waiters
   * is checked before `start`, so that a caller that gets 429 has changed nothing.
   */
  startAndWait(
    ctx: Pick<Ctx, 'tenantId' | 'signal'>,
    start: () => Promise<{ id: string; state: T; limitMs: number }>,
    until: (state: T) => boolean,
  ): Promise<{ id: string; state: T | undefined }>
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

export interface RowChange<T = unknown> {
  id: string
  /** The nodes to signal. `all` is for rows that administrators change, which happens rarely. */
  to: Exclude<Address, `any/${string}`>
  /** The state after the commit, as JSON. Waiters use it instead of reading the row; other nodes get it only if it is small. */
  state?: T
}

/** `states` has a state for each id. It is null if the receiver must read the row. */
const RowsChanged = defineSignal<{ name: string; ids: string[]; states: unknown[] }>('kernel.rows-changed')

/** Maximum length of a state that is sent to other nodes. Larger states are read by the node that needs them. */
const sentStateLengthMax = 500

const defaultLimits = { perTenant: 10_000, total: 20_000 }
const idsPerRead = 500
const retryMs = 500
const timerMsMax = 2 ** 31 - 1

interface Waiter {
  wake(state?: unknown): void
}

interface Deps {
  nodeId: string
  signals: Pick<Signals, 'sendEach' | 'on' | 'onReset'>
  /** Aborts when the process stops. */
  stopping: AbortSignal
  metrics?: Metrics
  limits?: typeof defaultLimits
}

export function createWaits({ nodeId, signals, stopping, metrics, limits = defaultLimits }: Deps): Waits {
  const rows = createRows()
  const { starts } = rows
  const counts = createCounts(limits)
  const names = new Set<string>()
  const rowKey = (name: string, id: string) => `${name}\n${id}`

  signals.on(RowsChanged, ({ name, ids, states }) => {
    for (const [index, id] of ids.entries()) rows.wake(rowKey(name, id), states?.[index] ?? undefined)
  })
  signals.onReset(rows.wakeAll)
  stopping.addEventListener('abort', rows.wakeAll)
  metrics?.gauge('waypost_waiters', 'Number of callers that wait for a row to change.', [], (gauge) =>
    gauge.set(counts.size),
  )

  return {
    get size() {
      return counts.size
    },
    define<T extends {}>(name: string, read: (ids: string[]) => Promise<ReadonlyMap<string, T>>): RowWaits<T> {
      if (names.has(name)) throw new Error(`waits for "${name}" are defined twice`)
      names.add(name)
      const readOne = createBatcher<string, T>(async (ids) => {
        const states = await read([...new Set(ids)])
        return ids.map((id) => states.get(id))
      }, idsPerRead)
      async function waitFor(waiting: Wait<T>, id: string, until: (state: T) => boolean) {
        const remove = rows.add(rowKey(name, id), waiting as Waiter)
        try {
          return await readUntil(waiting, () => readOne(id), until)
        } finally {
          remove()
          waiting.end()
        }
      }
      return {
        async wait({ tenantId, signal }, id, { until, limitMs }) {
          if (CallerDisconnected.is(signal.reason)) throw signal.reason
          counts.add(tenantId)
          try {
            return await waitFor(createWait<T>(signal, stopping, limitMs), id, until)
          } finally {
            counts.remove(tenantId)
          }
        },
        async startAndWait({ tenantId, signal }, start, until) {
          counts.add(tenantId)
          const starting = starts.begin()
          try {
            const { id, state, limitMs } = await start().finally(starting.end)
            if (limitMs <= 0 || until(state)) return { id, state }
            // The state that `start` returned replaces the first read, unless the row has changed since.
            const first = starting.hasChanged(rowKey(name, id)) ? undefined : state
            const waiting = createWait<T>(signal, stopping, limitMs, first)
            return { id, state: await waitFor(waiting, id, until) }
          } finally {
            counts.remove(tenantId)
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
          for (const { id, state } of changes) rows.wake(rowKey(name, id), state)
        },
        wake: (id) => rows.wake(rowKey(name, id)),
      }
    },
  }
}

const isSmall = (state: unknown) => state !== undefined && JSON.stringify(state).length <= sentStateLengthMax

/** The waiters of this node, by kind and id of the row. */
function createRows() {
  const rows = new Map<string, Set<Waiter>>()
  const starts = createStarts()
  return {
    starts,
    add(key: string, waiter: Waiter) {
      const waiters = rows.get(key)
      if (waiters) waiters.add(waiter)
      else rows.set(key, new Set([waiter]))
      return () => {
        const waiters = rows.get(key)!
        waiters.delete(waiter)
        if (waiters.size === 0) rows.delete(key)
      }
    },
    wake(key: string, state?: unknown) {
      const waiters = rows.get(key)
      if (waiters) for (const waiter of waiters) waiter.wake(state)
      else starts.changed(key)
    },
    wakeAll() {
      starts.reset()
      for (const waiters of rows.values()) for (const waiter of waiters) waiter.wake()
    },
  }
}

interface Wait<T> {
  /** Ends the pause between reads. With a state, the next read is skipped. */
  wake(state?: T): void
  /** Returns the state that the last `wake` passed. Returns it only once. */
  takeState(): T | undefined
  /** Returns true if the next read is the last read. The state that it returns is the result. */
  isOver(): boolean
  throwIfDisconnected(): void
  /** Resolves with the next call of `wake`. Resolves immediately if `wake` was called since the last time. */
  nextWake(): Promise<void>
  end(): void
}

function createWait<T>(signal: AbortSignal, stopping: AbortSignal, limitMs: number, first?: T): Wait<T> {
  let isExpired = limitMs <= 0
  let isWakePending = false
  let nextState = first
  let resolve: (() => void) | undefined
  function wake(state?: T) {
    nextState = state
    isWakePending = true
    resolve?.()
  }
  const expire = () => {
    isExpired = true
    wake()
  }
  const timer = setTimeout(expire, Math.min(limitMs, timerMsMax))
  const onAbort = () => wake()
  signal.addEventListener('abort', onAbort)
  return {
    wake,
    takeState() {
      const state = nextState
      nextState = undefined
      return state
    },
    isOver: () => isExpired || signal.aborted || stopping.aborted,
    throwIfDisconnected() {
      if (CallerDisconnected.is(signal.reason)) throw signal.reason
    },
    async nextWake() {
      if (!isWakePending)
        await new Promise<void>((done) => {
          resolve = done
        })
      resolve = undefined
      isWakePending = false
    },
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    },
  }
}

/** Retries reads while the database is unreachable, until the wait is over. */
async function readUntil<T>(
  waiting: Wait<T>,
  read: () => Promise<T | undefined>,
  until: (state: T) => boolean,
): Promise<T | undefined> {
  for (;;) {
    const isLast = waiting.isOver()
    try {
      const state = waiting.takeState() ?? (await read())
      waiting.throwIfDisconnected()
      if (state === undefined || until(state) || isLast) return state
    } catch (error) {
      if (isLast || !isDatabaseUnavailable(error)) throw error
      void sleep(retryMs).then(() => waiting.wake())
    }
    await waiting.nextWake()
    waiting.throwIfDisconnected()
  }
}

const startMs = 1000

/**
 * Records which rows change while callers store their rows, because a signal may arrive before its waiter is registered. Two sets of a
 * second each are enough, because a start that takes longer reads its row.
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
        hasChanged: (key: string) =>
          resets !== resetsBefore || monotonicMs() - began > startMs || current.has(key) || previous.has(key),
      }
    },
    changed(key: string) {
      if (running === 0) return
      const now = monotonicMs()
      if (now - since > startMs) {
        previous = current
        current = new Set()
        since = now
      }
      current.add(key)
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
