/**
 * Limits concurrent work in total, per tenant and per caller. A limited number of excess tasks waits for a limited time; all further tasks
 * get 429. Tenants take turns, and so do the callers of a tenant, so that many tasks of one caller do not delay other callers.
 */
import type { Ctx } from './contract.ts'
import { CallerDisconnected, TooManyRequests } from './errors.ts'

export interface ConcurrencyLimit {
  /**
   * Runs the work as soon as the limit allows it. `waitingFor` is the context of the request that waits for the work. If its caller
   * disconnects, the task leaves the queue and the promise rejects with `CallerDisconnected`.
   */
  run<T>(tenantId: string, work: () => Promise<T>, waitingFor?: WaitingFor, caller?: string): Promise<T>
  /**
   * Resolves when work may start. Use it for work that is not a single promise. Call the returned function exactly once, when the work
   * ends.
   */
  enter(tenantId: string, caller?: string, waitingFor?: WaitingFor): Promise<() => void>
  /** Number of waiting tasks. */
  readonly waiting: number
}

/** The context of the request that waits. Its signal is used only if the task has to wait. */
export type WaitingFor = Pick<Ctx, 'signal'>

export interface ConcurrencyLimits {
  /** Maximum number of running tasks of all tenants together. */
  total?: number
  perTenant?: number
  /**
   * Maximum number of running tasks of one named caller. It is less than `perTenant`, so that a single caller cannot use up the limit of
   * its tenant.
   */
  perCaller?: number
  /** Maximum number of waiting tasks of a tenant. With 0, work that cannot start immediately is rejected. */
  waitingPerTenant?: number
  waitingTotal?: number
  /** Maximum time that a task waits; Infinity means no limit. */
  waitMs?: number
  /** Creates the error for rejected work; without it, the error is 429. */
  rejection?(): Error
}

interface Task {
  tenantId: string
  /** The caller with its tenant id, because names of callers are unique only within their tenant. */
  caller: string | undefined
}

interface WaitingTask extends Task {
  start(): void
  reject(): void
}

const unlimited = Number.POSITIVE_INFINITY
const tooManyRequests = () => TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })

export function createConcurrencyLimit(limits: ConcurrencyLimits): ConcurrencyLimit {
  const { total = unlimited, perTenant = unlimited, perCaller = unlimited } = limits
  const { waitingPerTenant = unlimited, waitingTotal = unlimited } = limits
  const { waitMs = 5000, rejection = tooManyRequests } = limits
  const runningByTenant = createCounts()
  const runningByCaller = createCounts()
  /** Waiting tasks by tenant. The tenants take turns in the order of the map, which is the order of insertion. */
  const queues = new Map<string, WaitingTask[]>()
  let running = 0
  let waiting = 0

  const mayStart = ({ tenantId, caller }: Task) =>
    running < total &&
    (perTenant === unlimited || runningByTenant.get(tenantId) < perTenant) &&
    (caller === undefined || runningByCaller.get(caller) < perCaller)

  function countRunning({ tenantId, caller }: Task, change: 1 | -1) {
    running += change
    if (perTenant !== unlimited) runningByTenant.add(tenantId, change)
    if (caller !== undefined) runningByCaller.add(caller, change)
  }

  function finish(task: Task) {
    countRunning(task, -1)
    if (waiting === 0) return
    for (const [tenantId, queue] of queues) {
      const index = queue.findIndex(mayStart)
      if (index < 0) continue
      const [next] = queue.splice(index, 1)
      queues.delete(tenantId)
      if (queue.length > 0) queues.set(tenantId, behindOthers(queue, next!.caller))
      next!.start()
      return
    }
  }

  function removeFromQueue(entry: WaitingTask) {
    const queue = queues.get(entry.tenantId)!
    queue.splice(queue.indexOf(entry), 1)
    if (queue.length === 0) queues.delete(entry.tenantId)
    waiting--
  }

  function waitForTurn(task: Task, signal: AbortSignal | undefined): Promise<void> {
    if (CallerDisconnected.is(signal?.reason)) throw signal!.reason
    const queue = queues.get(task.tenantId) ?? []
    const isFull = queue.length >= waitingPerTenant || waiting >= waitingTotal
    if (isFull && !rejectLastOfBusiest(queue, task.caller)) throw rejection()
    return new Promise((done, fail) => {
      const entry: WaitingTask = {
        ...task,
        start() {
          clearTimeout(timer)
          signal?.removeEventListener('abort', abort)
          waiting--
          countRunning(task, 1)
          done()
        },
        reject() {
          clearTimeout(timer)
          removeFromQueue(entry)
          signal?.removeEventListener('abort', abort)
          fail(rejection())
        },
      }
      // Only a disconnect removes the task. After a deadline or when the process stops, its request is still answered, so the task stays in
      // the queue.
      const abort = () => {
        if (!CallerDisconnected.is(signal!.reason)) return
        clearTimeout(timer)
        removeFromQueue(entry)
        fail(signal!.reason)
      }
      const timer = waitMs === unlimited ? undefined : setTimeout(entry.reject, waitMs)
      signal?.addEventListener('abort', abort)
      waiting++
      const current = queues.get(task.tenantId) ?? []
      current.push(entry)
      queues.set(task.tenantId, current)
    })
  }

  async function enter(tenantId: string, caller?: string, waitingFor?: WaitingFor) {
    const task = { tenantId, caller: caller === undefined ? undefined : `${tenantId}\n${caller}` }
    if (mayStart(task)) countRunning(task, 1)
    else await waitForTurn(task, waitingFor?.signal)
    return () => finish(task)
  }

  return {
    enter,
    run: (tenantId, work, waitingFor, caller) => runBetween(enter(tenantId, caller, waitingFor), work),
    get waiting() {
      return waiting
    },
  }
}

/**
 * Waits for `entered`, then runs the work. At the end, whether the work succeeds or fails, calls the function to which `entered` has
 * resolved.
 */
async function runBetween<T>(entered: Promise<() => void>, work: () => Promise<T>): Promise<T> {
  const leave = await entered
  try {
    return await work()
  } finally {
    leave()
  }
}

/** Moves the tasks of a caller behind the tasks of other callers, because the caller has just had its turn. */
function behindOthers(queue: WaitingTask[], caller: string | undefined): WaitingTask[] {
  if (caller === undefined) return queue
  const others = queue.filter((task) => task.caller !== caller)
  return others.length === 0 || others.length === queue.length
    ? queue
    : [...others, ...queue.filter((task) => task.caller === caller)]
}

/**
 * Makes room in a full queue for a task of `caller`: rejects the last task of the caller that has the most waiting tasks. Returns false,
 * and rejects nothing, if even this caller has no more waiting tasks than `caller` would have with the new task.
 */
function rejectLastOfBusiest(queue: WaitingTask[], caller: string | undefined): boolean {
  if (caller === undefined) return false
  const counts = createCounts()
  let busiest: string | undefined
  for (const { caller: other } of queue) {
    if (other === undefined) continue
    counts.add(other, 1)
    if (busiest === undefined || counts.get(other) > counts.get(busiest)) busiest = other
  }
  if (busiest === undefined || counts.get(busiest) <= counts.get(caller) + 1) return false
  queue.findLast((task) => task.caller === busiest)!.reject()
  return true
}

/** Semaphore: runs at most `max` tasks at the same time. Further tasks wait in the order of their arrival, without a time limit. */
export function createSemaphore(max: number) {
  const limit = createConcurrencyLimit({ total: max, waitMs: unlimited })
  return <T>(work: () => Promise<T>) => limit.run('', work)
}

function createCounts() {
  const counts = new Map<string, number>()
  return {
    get: (key: string) => counts.get(key) ?? 0,
    add(key: string, change: 1 | -1) {
      const count = (counts.get(key) ?? 0) + change
      if (count > 0) counts.set(key, count)
      else counts.delete(key)
    },
  }
}
