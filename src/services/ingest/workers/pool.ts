/**
 * Threads that run pipelines. Tenants take turns, and a tenant never has all threads. A watchdog terminates a thread whose document takes
 * too long. That document fails, and the other documents of its batch continue on another thread.
 */
import { Worker } from 'node:worker_threads'
import { monotonicMs } from '../../../kernel/clock.ts'
import { createFairQueue, type FairQueue } from '../../../sandbox/queue.ts'
import {
  cells,
  type DocumentOutcome,
  type FromThread,
  type PipelineSet,
  type Problem,
  type ToThread,
  unpack,
  type Work,
} from './protocol.ts'

export interface PoolOptions {
  threads: number
  /** True if scripts may use regular expressions. */
  regexEnabled: boolean
  /** Milliseconds that a thread may take to start. */
  startMs?: number
  now(): Date
  /** Called when a thread ended unexpectedly. */
  onError(error: unknown): void
}

/** The result of the work: either one problem for all documents, or an outcome for each document. */
export type WorkResult = { problem: Problem } | { outcomes: (DocumentOutcome | string)[] }

export interface PipelinePool {
  /** Runs the work. Resolves to undefined if too much work waits. */
  run(set: PipelineSet, work: Work): Promise<WorkResult | undefined>
  stop(): Promise<void>
  /** Number of threads that the watchdog has terminated, for tests and metrics. */
  readonly replaced: number
}

interface Job {
  tenantId: string
  bytes: number
  set: PipelineSet
  work: Work
  outcomes: (DocumentOutcome | string)[]
  stuck: [number, Problem][]
  resultLength: number
  resolve(result: WorkResult): void
}

interface Thread {
  worker: Worker
  shared: Int32Array<SharedArrayBuffer>
  isReady: boolean
  job: Job | undefined
  /** The version of the pipelines that the thread has for each tenant. The tenant whose work ran last is at the end. */
  versions: Map<string, number>
  seen: { current: number; at: number }
  isKilled: boolean
  idleSince: number
}

/**
 * Time limit of a document (document 5, 7.6). The watchdog waits `graceMs` longer, because a thread may not get processor time immediately.
 */
const documentMs = 1000
const graceMs = 1000
const defaultStartMs = 30_000
const checkMs = 100
const idleMs = 60_000
const mebibyte = 1024 * 1024
const queueLimits = { perTenant: 1000, bytesPerTenant: 32 * mebibyte, bytesTotal: 128 * mebibyte }
/** Maximum number of tenants whose pipelines a thread keeps. */
export const tenantsPerThread = 200
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 8 }

interface State extends Omit<PoolOptions, 'threads'> {
  queue: FairQueue<Job>
  threads: Set<Thread>
  watchdog: NodeJS.Timeout | undefined
  isStopped: boolean
  replaced: number
  maxThreads: number
  startMs: number
}

const tooSlow: Problem = { type: 'timeout_exception', reason: `the pipeline ran for more than ${documentMs / 1000} s` }
const tooLarge: Problem = {
  type: 'circuit_breaking_exception',
  reason: 'the pipeline needs more memory than a document may',
}
const crashed: Problem = { type: 'exception', reason: 'the thread that ran the pipeline failed' }

export function createPipelinePool(options: PoolOptions): PipelinePool {
  const state: State = {
    ...options,
    maxThreads: options.threads,
    startMs: options.startMs ?? defaultStartMs,
    queue: createFairQueue<Job>(queueLimits),
    threads: new Set(),
    watchdog: undefined,
    isStopped: false,
    replaced: 0,
  }
  return {
    run(set, work) {
      const { promise, resolve } = Promise.withResolvers<WorkResult | undefined>()
      const unfinished = { outcomes: [], stuck: [], resultLength: 0 }
      const job: Job = { tenantId: set.tenantId, bytes: bytesOf(work), set, work, ...unfinished, resolve }
      if (state.isStopped) return Promise.resolve({ problem: stopped })
      if (!state.queue.add(job)) return Promise.resolve(undefined)
      dispatchWaitingWork(state)
      return promise
    },
    async stop() {
      state.isStopped = true
      clearInterval(state.watchdog)
      for (const job of state.queue.removeAll()) fail(job, stopped)
      await Promise.all([...state.threads].map(({ worker }) => worker.terminate()))
    },
    get replaced() {
      return state.replaced
    },
  }
}

const stopped: Problem = { type: 'exception', reason: 'this node is stopping', isTemporary: true }

function bytesOf(work: Work): number {
  if (work.kind === 'check') return work.definition.length
  if (work.kind === 'simulate') return work.body.length
  return work.documents.length
}

const noThread: Problem = { type: 'exception', reason: 'the threads of pipelines cannot start', isTemporary: true }

const fail = (job: Job, problem: Problem) => job.resolve({ problem })

/** Gives waiting work to free threads, and starts threads if there are too few. */
function dispatchWaitingWork(state: State) {
  while (state.queue.size > 0 && !state.isStopped) {
    let thread = [...state.threads].find(({ isReady, job, isKilled }) => isReady && !job && !isKilled)
    const isStarting = [...state.threads].some(({ isReady }) => !isReady)
    if (!thread && state.threads.size < state.maxThreads && !isStarting) thread = startThread(state)
    if (!thread?.isReady) return
    const tenantId = state.queue.nextTenant((id) => mayRun(state, id))
    const job = tenantId === undefined ? undefined : state.queue.take(tenantId)
    if (!job) return
    dispatch(state, thread, job)
  }
}

/** Returns whether work of the tenant may start. One thread must stay free for other tenants. */
function mayRun({ threads, maxThreads }: State, tenantId: string): boolean {
  let running = 0
  for (const { job } of threads) if (job?.tenantId === tenantId) running++
  return running < Math.max(1, maxThreads - 1)
}

function dispatch(state: State, thread: Thread, job: Job) {
  const { tenantId, version, pipelines } = job.set
  const isKnown = thread.versions.get(tenantId) === version
  const evicted = evictFor(thread, tenantId)
  thread.versions.set(tenantId, version)
  const message: ToThread = {
    work: job.work,
    tenantId,
    ...(!isKnown && { pipelines }),
    ...(evicted !== undefined && { evicted }),
    startAt: job.outcomes.length,
    stuck: job.stuck,
    resultLength: job.resultLength,
    now: state.now().getTime(),
  }
  thread.job = job
  Atomics.store(thread.shared, cells.current, 0)
  thread.seen = { current: 0, at: monotonicMs() }
  thread.worker.ref()
  thread.worker.postMessage(message)
  state.watchdog ??= setInterval(checkThreads, checkMs, state).unref()
}

/**
 * Removes the version of the tenant, so that the caller adds it at the end. If the tenant is new and the thread already keeps the maximum
 * number of tenants, removes and returns the tenant whose work ran longest ago.
 */
function evictFor({ versions }: Thread, tenantId: string): string | undefined {
  const isNew = !versions.delete(tenantId)
  if (!isNew || versions.size < tenantsPerThread) return undefined
  const [oldest] = versions.keys()
  versions.delete(oldest!)
  return oldest
}

function startThread(state: State): Thread {
  const shared = new Int32Array(new SharedArrayBuffer(Object.keys(cells).length * 4))
  // The thread gets neither the environment nor the arguments of the process, because a script must never be able to read them.
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: { shared, regexEnabled: state.regexEnabled },
    env: {},
    argv: [],
    stdout: true,
    stderr: true,
    resourceLimits,
  })
  const thread: Thread = {
    worker,
    shared,
    isReady: false,
    job: undefined,
    versions: new Map(),
    seen: { current: 0, at: monotonicMs() },
    isKilled: false,
    idleSince: monotonicMs(),
  }
  state.threads.add(thread)
  state.watchdog ??= setInterval(checkThreads, checkMs, state).unref()
  let failure: (Error & { code?: string }) | undefined
  worker.on('error', (error: Error) => (failure = error))
  worker.on('exit', () => handleExit(state, thread, failure))
  worker.on('message', (message: FromThread) => handleMessage(state, thread, message))
  return thread
}

function handleMessage(state: State, thread: Thread, message: FromThread) {
  if (message.type === 'ready') {
    thread.isReady = true
    thread.worker.unref()
    return dispatchWaitingWork(state)
  }
  const { job } = thread
  if (!job || thread.isKilled) return
  thread.job = undefined
  thread.idleSince = monotonicMs()
  thread.worker.unref()
  if (message.type === 'problem') fail(job, message.problem)
  else {
    for (const outcome of message.type === 'documents' ? unpack(message) : message.outcomes) job.outcomes.push(outcome)
    job.resultLength = message.resultLength
    if (message.isLast) job.resolve({ outcomes: job.outcomes })
    else state.queue.putBack(job)
  }
  dispatchWaitingWork(state)
}

/**
 * Handles the end of a thread. The document that was running fails. All other documents of the job whose outcome the thread has not sent
 * run on another thread. If a second thread ends before the next document runs, the whole job fails.
 */
function handleExit(state: State, thread: Thread, failure: (Error & { code?: string }) | undefined) {
  state.threads.delete(thread)
  const { job } = thread
  if (state.isStopped) return job && fail(job, stopped)
  const isTooLarge = failure?.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (failure && !isTooLarge) state.onError(failure)
  if (job) {
    state.replaced++
    const current = Atomics.load(thread.shared, cells.current)
    const problem = isTooLarge ? tooLarge : failure ? crashed : tooSlow
    // The second thread did not run this document. It ended for another reason, for example because the pipeline compiles too slowly.
    const isRepeated = job.stuck.some(([index]) => index === current - 1)
    if (current === 0 || isRepeated) fail(job, problem)
    else {
      job.stuck.push([current - 1, problem])
      state.queue.putBack(job)
    }
  } else if (!thread.isReady) {
    for (const waiting of state.queue.removeAll()) fail(waiting, noThread)
  }
  dispatchWaitingWork(state)
}

function checkThreads(state: State) {
  const now = monotonicMs()
  for (const thread of state.threads) {
    const current = Atomics.load(thread.shared, cells.current)
    if (!thread.isReady) {
      if (now - thread.seen.at > state.startMs) end(thread)
    } else if (!thread.job) {
      if (now - thread.idleSince > idleMs) end(thread)
    } else if (current !== thread.seen.current) thread.seen = { current, at: now }
    else if (now - thread.seen.at > documentMs + graceMs) end(thread)
  }
  if (state.threads.size > 0) return
  clearInterval(state.watchdog)
  state.watchdog = undefined
}

function end(thread: Thread) {
  if (thread.isKilled) return
  thread.isKilled = true
  void thread.worker.terminate()
}
