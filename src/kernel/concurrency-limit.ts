/**
 * Limits concurrent work in total, per tenant and per caller. Excess work waits, a bounded number for a bounded time, then gets
 * 429. Tenants take turns, so that a flood of one does not keep the others waiting. Without a limit per tenant it is a semaphore.
 */
import type { Ctx } from './contract.ts'
import { CallerGone, TooManyRequests } from './errors.ts'

export interface ConcurrencyLimit {
  /** With `waitingFor`, a caller that hangs up leaves the queue: rejects with `CallerGone`. */
  run<T>(tenantId: string, work: () => Promise<T>, waitingFor?: WaitingFor): Promise<T>
  /** For work that is not one promise: the caller calls what it resolves with, once. */
  enter(tenantId: string, caller?: string, waitingFor?: WaitingFor): Promise<() => void>
  /** How many wait. */
  readonly waiting: number
}

/** Its signal is used only if the work has to wait. */
export type WaitingFor = Pick<Ctx, 'signal'>

export interface ConcurrencyLimits {
  /** Of all tenants together. */
  inAll?: number
  perTenant?: number
  /** Of one caller, where callers are named: less than the tenant has, so that one alone cannot use it up. */
  perCaller?: number
  /** 0: whoever cannot start at once is refused. */
  waitingPerTenant?: number
  waitingInAll?: number
  /** Infinity: for ever. */
  waitMs?: number
  /** Instead of 429. */
  refusal?(): Error
}

interface Visitor {
  tenantId: string
  /** With the tenant, whose names they are. */
  caller: string | undefined
}

interface Waiting extends Visitor {
  start(): void
}

const unlimited = Number.POSITIVE_INFINITY
const tooMany = () => TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })

export function createConcurrencyLimit(limits: ConcurrencyLimits): ConcurrencyLimit {
  const { inAll = unlimited, perTenant = unlimited, perCaller = unlimited } = limits
  const { waitingPerTenant = unlimited, waitingInAll = unlimited, waitMs = 5000, refusal = tooMany } = limits
  const ofTenants = createCounts()
  const ofCallers = createCounts()
  /** Tenants in the order of their turns: a Map keeps the order of insertion. */
  const queues = new Map<string, Waiting[]>()
  let running = 0
  let waiting = 0

  const mayStart = ({ tenantId, caller }: Visitor) =>
    running < inAll &&
    (perTenant === unlimited || ofTenants.of(tenantId) < perTenant) &&
    (caller === undefined || ofCallers.of(caller) < perCaller)

  function count({ tenantId, caller }: Visitor, change: 1 | -1) {
    running += change
    if (perTenant !== unlimited) ofTenants.add(tenantId, change)
    if (caller !== undefined) ofCallers.add(caller, change)
  }

  function leave(visitor: Visitor) {
    count(visitor, -1)
    if (waiting === 0) return
    for (const [tenantId, queue] of queues) {
      const index = queue.findIndex(mayStart)
      if (index < 0) continue
      const [next] = queue.splice(index, 1)
      queues.delete(tenantId)
      if (queue.length > 0) queues.set(tenantId, queue)
      next!.start()
      return
    }
  }

  function giveUp(mine: Waiting) {
    const queue = queues.get(mine.tenantId)!
    queue.splice(queue.indexOf(mine), 1)
    if (queue.length === 0) queues.delete(mine.tenantId)
    waiting--
  }

  function turn(visitor: Visitor, signal: AbortSignal | undefined): Promise<void> {
    if (CallerGone.is(signal?.reason)) throw signal!.reason
    const queue = queues.get(visitor.tenantId) ?? []
    if (queue.length >= waitingPerTenant || waiting >= waitingInAll) throw refusal()
    return new Promise((done, fail) => {
      const mine: Waiting = {
        ...visitor,
        start() {
          clearTimeout(timer)
          signal?.removeEventListener('abort', abort)
          waiting--
          count(visitor, 1)
          done()
        },
      }
      const expire = () => {
        giveUp(mine)
        signal?.removeEventListener('abort', abort)
        fail(refusal())
      }
      // At a deadline or a stop of the process the work still gets its turn: requests in flight are answered.
      const abort = () => {
        if (!CallerGone.is(signal!.reason)) return
        clearTimeout(timer)
        giveUp(mine)
        fail(signal!.reason)
      }
      const timer = waitMs === unlimited ? undefined : setTimeout(expire, waitMs)
      signal?.addEventListener('abort', abort)
      waiting++
      queue.push(mine)
      queues.set(visitor.tenantId, queue)
    })
  }

  return {
    async enter(tenantId, caller, waitingFor) {
      const visitor = { tenantId, caller: caller === undefined ? undefined : `${tenantId}\n${caller}` }
      if (mayStart(visitor)) count(visitor, 1)
      else await turn(visitor, waitingFor?.signal)
      return () => leave(visitor)
    },
    async run(tenantId, work, waitingFor) {
      const visitor = { tenantId, caller: undefined }
      if (mayStart(visitor)) count(visitor, 1)
      else await turn(visitor, waitingFor?.signal)
      try {
        return await work()
      } finally {
        leave(visitor)
      }
    },
    get waiting() {
      return waiting
    },
  }
}

/** Semaphore: at most `max` at once; the others wait in the order of arrival, for as long as it takes. */
export function createSemaphore(max: number) {
  const limit = createConcurrencyLimit({ inAll: max, waitMs: unlimited })
  return <T>(work: () => Promise<T>) => limit.run('', work)
}

function createCounts() {
  const counts = new Map<string, number>()
  return {
    of: (key: string) => counts.get(key) ?? 0,
    add(key: string, change: 1 | -1) {
      const count = (counts.get(key) ?? 0) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}
