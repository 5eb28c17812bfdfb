/** Dispatches jobs to worker threads, answers their host calls, and replaces threads that are stuck or have died. */
import { monotonicMs } from './clock.ts'
import { CallRejected, type Job } from './job.ts'
import type { Outcome } from './outcome.ts'
import { type BatchMessage, type CallMessage, cells, type NextOutcome, revoked } from './protocol.ts'
import { createFairQueue, type FairQueue, type QueueLimits } from './queue.ts'
import {
  currentUnit,
  isWaiting,
  lowerPriority,
  reply,
  restorePriority,
  startThread,
  type Thread,
  type Unit,
} from './thread.ts'

export interface PoolOptions {
  worlds: Record<string, string>
  memoryBytes: number
  loadEngine(): Promise<WebAssembly.Module>
  /** Maximum number of threads that run short scripts at the same time. */
  active: number
  /** Maximum number of threads, including threads whose scripts run for long or wait for host calls. */
  threads: number
  /** Maximum number of threads of one tenant, including threads that wait for host calls. */
  threadsPerTenant: number
  /** Maximum number of threads of one tenant, including threads of nested scripts, for which other scripts of the tenant wait. */
  threadsWithNested: number
  queue: QueueLimits
  /** Called with errors of host calls and of threads. */
  onError(error: unknown): void
}

/** The error with which a script is rejected if the pool was stopped before the script ended. */
export class SandboxStopped extends Error {
  override readonly name = 'SandboxStopped'
}

const unitsPerBatch = 32
const checkEveryMs = 25
/** A script that runs for longer than this no longer counts as active, so that another thread can start. */
const slowAfterMs = 25
const lowerPriorityAfterMs = 100
/**
 * After the time limit, a thread has this long to stop the script itself. Some built-in functions ignore the limit; then the thread is
 * terminated.
 */
const graceMs = 500
const idleMs = 30_000
/** Maximum number of threads that may die in succession. After that, queued scripts fail. */
const deathsMax = 2
/** Number of threads that nested scripts must leave for other tenants. */
const threadsLeft = 4

const nestedSuffix = '\0nested'
/**
 * Returns the lane of a job: the key by which jobs take turns in the queue. Each tenant has one lane, and a second lane for nested scripts.
 * In one common lane, a nested script could wait behind the script that waits for it.
 */
const laneOf = ({ tenantId, isNested }: Job) => (isNested ? tenantId + nestedSuffix : tenantId)

export interface PoolStats {
  threads: number
  busy: number
  queued: number
  /** Number of threads that the watchdog has terminated or that died. */
  replaced: number
}

export interface Pool {
  /** Adds a job. Returns false if the queue is full. */
  add(job: Job): boolean
  stats(): PoolStats
  stop(): Promise<void>
}

interface State {
  options: PoolOptions
  queue: FairQueue<Job>
  threads: Set<Thread>
  module: WebAssembly.Module | undefined
  replaced: number
  watchdog: NodeJS.Timeout | undefined
  isDispatchScheduled: boolean
  isStopped: boolean
  /** Number of threads that died since a script last ended. With this count, a thread that cannot start is not replaced for ever. */
  deaths: number
}

export function createPool(options: PoolOptions): Pool {
  const state: State = {
    options,
    queue: createFairQueue(options.queue, laneOf),
    threads: new Set(),
    module: undefined,
    replaced: 0,
    watchdog: undefined,
    isDispatchScheduled: false,
    isStopped: false,
    deaths: 0,
  }
  return {
    add(job) {
      if (!state.queue.add(job)) return false
      scheduleDispatch(state)
      return true
    },
    stats: () => ({
      threads: state.threads.size,
      busy: [...state.threads].filter(({ batch }) => batch).length,
      queued: state.queue.size,
      replaced: state.replaced,
    }),
    async stop() {
      state.isStopped = true
      clearInterval(state.watchdog)
      rejectQueued(state)
      await Promise.all([...state.threads].map(({ worker }) => worker.terminate()))
    },
  }
}

function rejectQueued({ queue }: State) {
  for (const job of queue.removeAll())
    for (const index of job.pending) job.settle[index]!.reject(new SandboxStopped('the sandbox was stopped'))
}

/** Schedules the dispatch, so that jobs that are added at the same time are dispatched together. */
function scheduleDispatch(state: State) {
  if (state.isDispatchScheduled) return
  state.isDispatchScheduled = true
  queueMicrotask(() => {
    state.isDispatchScheduled = false
    dispatchQueued(state)
  })
}

/** Gives queued jobs to idle threads, lane by lane. If there are too few threads, starts new threads. */
function dispatchQueued(state: State) {
  if (state.isStopped || state.queue.size === 0) return
  let active = 0
  for (const thread of state.threads) if (thread.batch && !thread.isSlow) active++
  while (active < state.options.active) {
    const thread = [...state.threads].find(({ isReady, batch, isRetiring }) => isReady && !batch && !isRetiring)
    if (!thread) break
    const lane = state.queue.nextTenant((name) => mayRun(state, name))
    if (lane === undefined) break
    dispatch(state, thread, lane)
    active++
  }
  if (state.queue.size > 0) startMissingThreads(state, active)
}

/**
 * Returns whether a lane may use another thread. A tenant may use all active threads except one, which is left for other tenants. Nested
 * scripts may use further threads.
 */
function mayRun({ threads, options }: State, lane: string): boolean {
  const isNested = lane.endsWith(nestedSuffix)
  const tenantId = isNested ? lane.slice(0, -nestedSuffix.length) : lane
  let [busy, total, running] = [0, 0, 0]
  for (const thread of threads) {
    if (thread.batch) busy++
    if (thread.batch?.tenantId !== tenantId) continue
    total++
    if (!isWaiting(thread)) running++
  }
  if (running >= Math.max(1, options.active - 1)) return false
  if (total < options.threadsPerTenant) return true
  return isNested && total < options.threadsWithNested && busy + threadsLeft < options.threads
}

function startMissingThreads(state: State, active: number) {
  const { options, threads } = state
  const { worlds, memoryBytes } = options
  let usable = active
  for (const { isReady, batch } of threads) if (!isReady || !batch) usable++
  if (usable >= options.active || threads.size >= options.threads) return
  if (!state.module) return loadModule(state)
  for (; usable < options.active && threads.size < options.threads; usable++)
    threads.add(startThread({ module: state.module, worlds, memoryBytes }, eventsOf(state)))
  startWatchdog(state)
}

function loadModule(state: State) {
  state.options.loadEngine().then(
    (module) => {
      if (state.module) return
      state.module = module
      dispatchQueued(state)
    },
    (error) => {
      state.options.onError(error)
      failQueued(state)
    },
  )
}

/** Fails the queued jobs, because no thread can start and they would wait for ever. */
function failQueued({ queue }: State) {
  const outcome: Outcome = { ok: false, reason: 'CRASH', message: 'the sandbox cannot start', log: [], durationMs: 0 }
  for (const job of queue.removeAll()) for (const index of job.pending) job.settle[index]!.resolve(outcome)
}

function dispatch(state: State, thread: Thread, lane: string) {
  const units: Unit[] = []
  let tenantId = ''
  const message: BatchMessage = { jobs: [] }
  while (units.length < unitsPerBatch) {
    const job = state.queue.take(lane)
    if (!job) break
    tenantId = job.tenantId
    if (job.pending.length === 0) continue
    const { world, input, keep, limits, scripts, pending, next } = job
    if (next && pending[0] !== 0) {
      // The first script has run on another thread.
      job.pending = []
      job.settle[1]!.resolve('NOT_RUN')
      continue
    }
    message.jobs.push({ world, tenantId, input, keep, limits, scripts: pending.map((index) => scripts[index]!), next })
    for (const index of pending) units.push({ job, index, isDone: false, isTakenBack: false })
    job.pending = []
  }
  thread.batch = { tenantId, units }
  thread.seen = { unit: undefined, at: monotonicMs() }
  thread.isSlow = false
  Atomics.store(thread.shared, cells.claimed, 0)
  Atomics.store(thread.shared, cells.waiting, 0)
  Atomics.store(thread.shared, cells.current, 0)
  thread.worker.postMessage(message)
  startWatchdog(state)
}

function eventsOf(state: State) {
  return {
    ready(thread: Thread) {
      thread.idleSince = monotonicMs()
      dispatchQueued(state)
    },
    outcomes(thread: Thread, { outcomes, isLast }: { outcomes: [number, NextOutcome][]; isLast: boolean }) {
      state.deaths = 0
      for (const [index, outcome] of outcomes) {
        const unit = thread.batch?.units[index]
        if (unit) settle(unit, outcome)
      }
      if (isLast) becomeIdle(state, thread)
    },
    call(thread: Thread, message: CallMessage) {
      const unit = thread.batch?.units[message.unit]
      if (!unit) return
      thread.isSlow = true
      void answerCall(state, thread, unit, message)
      scheduleDispatch(state)
    },
    ended(thread: Thread, error: unknown) {
      handleEnd(state, thread, error)
    },
  }
}

function settle(unit: Unit, outcome: NextOutcome) {
  if (unit.isDone) return
  unit.isDone = true
  unit.abort?.abort()
  unit.job.settle[unit.index]!.resolve(outcome)
}

function becomeIdle(state: State, thread: Thread) {
  thread.batch = undefined
  thread.isSlow = false
  thread.idleSince = monotonicMs()
  restorePriority(thread)
  if (thread.isRetiring) void thread.worker.terminate()
  dispatchQueued(state)
}

async function answerCall({ options }: State, thread: Thread, unit: Unit, { call, name, args }: CallMessage) {
  unit.abort ??= new AbortController()
  const { limits, call: hostCall } = unit.job
  let text: string
  try {
    if (!hostCall) throw new CallRejected(`there is no host function ${name}`)
    const json = JSON.stringify(await hostCall(name, JSON.parse(args), unit.abort.signal)) ?? 'null'
    if (Buffer.byteLength(json) > limits.callBytes)
      throw new CallRejected(`the result of ${name} has more than ${limits.callBytes} bytes`)
    text = `+${json}`
  } catch (error) {
    if (!(error instanceof CallRejected) && !unit.isDone) options.onError(error)
    text = error instanceof CallRejected ? `-${error.message}` : `-${name} failed`
  }
  if (!unit.isDone) reply(thread, { call, reply: text })
}

/** Handles the end of a thread. Its current script fails. Scripts that have no outcome yet run again on another thread. */
function handleEnd(state: State, thread: Thread, error: unknown) {
  state.threads.delete(thread)
  if (error) state.options.onError(error)
  if (state.isStopped) return rejectUnits(thread)
  if (thread.batch || !thread.isReady) {
    state.replaced++
    state.deaths++
  }
  if (thread.batch) takeBack(state, thread)
  if (state.deaths > deathsMax && state.threads.size === 0) {
    state.deaths = 0
    return failQueued(state)
  }
  dispatchQueued(state)
}

function rejectUnits({ batch }: Thread) {
  for (const { isDone, isTakenBack, abort, job, index } of batch?.units ?? []) {
    abort?.abort()
    if (!isDone && !isTakenBack) job.settle[index]!.reject(new SandboxStopped('the sandbox was stopped'))
  }
}

function takeBack(state: State, thread: Thread) {
  const { units } = thread.batch!
  thread.batch = undefined
  const stuck = thread.killedUnit ?? currentUnit(thread)
  const stuckUnit = stuck === undefined ? undefined : units[stuck]
  if (stuckUnit)
    settle(stuckUnit, outcomeOfDeadThread(stuckUnit, thread.killedUnit === undefined ? 'CRASH' : 'TIMEOUT'))
  const open = units.filter(({ isDone, isTakenBack }) => !isDone && !isTakenBack)
  // A script that has made host calls is not repeated, because the calls may have had effects.
  for (const unit of open) if (unit.abort) settle(unit, outcomeOfDeadThread(unit, 'CRASH'))
  putBack(
    state,
    open.filter(({ abort }) => !abort),
  )
}

function outcomeOfDeadThread({ job: { limits } }: Unit, reason: 'TIMEOUT' | 'CRASH'): Outcome {
  const message =
    reason === 'TIMEOUT'
      ? `the script ran for more than ${limits.timeMs / 1000} seconds`
      : 'the script crashed the sandbox'
  return { ok: false, reason, message, log: [], durationMs: reason === 'TIMEOUT' ? limits.timeMs : 0 }
}

/** Queues units again, in order, before the other jobs of the tenant. */
function putBack({ queue }: State, units: Unit[]) {
  const jobs = new Set(units.map(({ job }) => job))
  for (const job of [...jobs].reverse()) {
    job.pending.unshift(...units.filter((unit) => unit.job === job).map(({ index }) => index))
    queue.putBack(job)
  }
}

/** Takes back the units (scripts of the thread's batch) that the thread has not claimed yet, and puts these units into the queue again. */
function revokeUnclaimed(state: State, { batch, shared }: Thread) {
  const claimed = Atomics.exchange(shared, cells.claimed, revoked)
  if (claimed >= batch!.units.length) return
  const unclaimed = batch!.units.slice(claimed)
  for (const unit of unclaimed) unit.isTakenBack = true
  putBack(state, unclaimed)
}

function startWatchdog(state: State) {
  state.watchdog ??= setInterval(() => checkThreads(state), checkEveryMs).unref()
}

function checkThreads(state: State) {
  const now = monotonicMs()
  for (const thread of state.threads) {
    if (thread.batch) checkThread(state, thread, now)
    else if (thread.isReady && now - thread.idleSince > idleMs && state.threads.size > 1) void thread.worker.terminate()
  }
  if ([...state.threads].every(({ batch, isReady }) => isReady && !batch) && state.threads.size <= 1) {
    clearInterval(state.watchdog)
    state.watchdog = undefined
  }
  dispatchQueued(state)
}

/** Terminates the thread if its script exceeds the time limit. If the script runs for long, other threads get the rest of the batch. */
function checkThread(state: State, thread: Thread, now: number) {
  const unit = currentUnit(thread)
  if (unit !== thread.seen.unit) {
    thread.seen = { unit, at: now }
    thread.isSlow = false
    restorePriority(thread)
    return
  }
  if (unit === undefined || thread.killedUnit !== undefined) return
  const elapsed = now - thread.seen.at
  if (elapsed > thread.batch!.units[unit]!.job.limits.timeMs + graceMs) {
    thread.killedUnit = unit
    void thread.worker.terminate()
  } else if (elapsed > slowAfterMs) {
    thread.isSlow = true
    revokeUnclaimed(state, thread)
    if (elapsed > lowerPriorityAfterMs && !isWaiting(thread) && !thread.hasLowPriority) lowerPriority(thread)
  }
}
