/**
 * Waits until a row has the wanted state. A waiter registers, reads, and reads again when a node signals that the row has changed
 * or that signals may have been lost; it never polls. Reads of many waiters share statements. See ADR 19.
 */

import { createBatcher } from './batcher.ts'
import { sleep } from './clock.ts'
import type { Ctx } from './contract.ts'
import { isConnectionFailure, type Sql } from './db.ts'
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
   * Resolves with the state once `until` holds, or with undefined once the row is gone. At the time limit, the deadline of the request
   * or the stop of the process it resolves with the current state. Rejects with 429 at the limit of waiters, with `CallerDisconnected`, or with an error of `read`.
   */
  wait(ctx: Pick<Ctx, 'tenantId' | 'signal'>, id: string, options: WaitOptions<T>): Promise<T | undefined>
  /** Wakes the waiters of these rows when `sql` commits. To address the node of a waiter, store its node id in the row. */
  changed(sql: Sql, changes: readonly RowChange[]): Promise<void>
}

export interface WaitOptions<T> {
  until(state: T): boolean
  limitMs: number
}

export interface RowChange {
  id: string
  /** `all` is for rows of the control plane, which change rarely. */
  to: Exclude<Address, `any/${string}`>
}

const RowsChanged = defineSignal<{ name: string; ids: string[] }>('kernel.rows-changed')

const defaults = { perTenant: 2000, total: 20_000 }
const readsMax = 500
const retryMs = 500
const timerMsMax = 2 ** 31 - 1

interface Waiter {
  wake(): void
}

interface Deps {
  signals: Pick<Signals, 'sendEach' | 'on' | 'onReset'>
  /** Aborts when the process stops. */
  stopping: AbortSignal
  metrics?: Metrics
  limits?: typeof defaults
}

export function createWaits({ signals, stopping, metrics, limits = defaults }: Deps): Waits {
  /** By kind and id of the row. */
  const rows = new Map<string, Set<Waiter>>()
  const counts = createCounts(limits)
  const names = new Set<string>()
  const rowKey = (name: string, id: string) => `${name}\n${id}`

  signals.on(RowsChanged, ({ name, ids }) => {
    for (const id of ids) for (const waiter of rows.get(rowKey(name, id)) ?? []) waiter.wake()
  })
  const wakeAll = () => {
    for (const waiters of rows.values()) for (const waiter of waiters) waiter.wake()
  }
  signals.onReset(wakeAll)
  stopping.addEventListener('abort', wakeAll)
  metrics?.gauge('waypost_waiters', 'Number of callers that wait for a row to change.', [], (gauge) =>
    gauge.set(counts.size),
  )

  function add(key: string, waiter: Waiter) {
    const waiters = rows.get(key)
    if (waiters) waiters.add(waiter)
    else rows.set(key, new Set([waiter]))
    return () => {
      const waiters = rows.get(key)!
      waiters.delete(waiter)
      if (waiters.size === 0) rows.delete(key)
    }
  }

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
      }, readsMax)
      return {
        async wait({ tenantId, signal }, id, { until, limitMs }) {
          if (CallerDisconnected.is(signal.reason)) throw signal.reason
          counts.add(tenantId)
          const waiting = createWaiting(signal, stopping, limitMs)
          const remove = add(rowKey(name, id), waiting)
          try {
            return await readUntil(waiting, () => readOne(id), until)
          } finally {
            remove()
            waiting.end()
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
                  payload: { name, ids: ofNode.map(({ id }) => id) },
                })),
              ),
      }
    },
  }
}

interface Waiting extends Waiter {
  /** The next read is the last one; its state is the result. */
  isOver(): boolean
  throwIfGone(): void
  /** Resolves immediately if `wake` was called since the last call. */
  woken(): Promise<void>
  end(): void
}

function createWaiting(signal: AbortSignal, stopping: AbortSignal, limitMs: number): Waiting {
  let isTimeOver = limitMs <= 0
  let isDirty = false
  let resolve: (() => void) | undefined
  function wake() {
    isDirty = true
    resolve?.()
  }
  const expire = () => {
    isTimeOver = true
    wake()
  }
  const timer = setTimeout(expire, Math.min(limitMs, timerMsMax))
  signal.addEventListener('abort', wake)
  return {
    wake,
    isOver: () => isTimeOver || signal.aborted || stopping.aborted,
    throwIfGone() {
      if (CallerDisconnected.is(signal.reason)) throw signal.reason
    },
    async woken() {
      if (!isDirty)
        await new Promise<void>((done) => {
          resolve = done
        })
      resolve = undefined
      isDirty = false
    },
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', wake)
    },
  }
}

/** Retries reads while the database is unreachable, until the wait is over. */
async function readUntil<T>(
  waiting: Waiting,
  read: () => Promise<T | undefined>,
  until: (state: T) => boolean,
): Promise<T | undefined> {
  for (;;) {
    const isLast = waiting.isOver()
    try {
      const state = await read()
      waiting.throwIfGone()
      if (state === undefined || until(state) || isLast) return state
    } catch (error) {
      if (isLast || !isConnectionFailure(error)) throw error
      void sleep(retryMs).then(waiting.wake)
    }
    await waiting.woken()
    waiting.throwIfGone()
  }
}

function createCounts({ perTenant, total }: typeof defaults) {
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
