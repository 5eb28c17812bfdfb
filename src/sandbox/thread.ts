/** One worker thread, from the perspective of the pool. */
import { getCompileCacheDir } from 'node:module'
import { setPriority } from 'node:os'
import { dirname } from 'node:path'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { Job } from './job.ts'
import type { MachineOptions } from './machine.ts'
import { type CallMessage, type CallReply, cells, type FromWorker, type WorkerData } from './protocol.ts'

export interface Unit {
  job: Job
  /** Index of the script in the job. */
  index: number
  isDone: boolean
  /** True if the unit was returned to the queue, because the thread had not claimed it. */
  isTakenBack: boolean
  /** Aborts the host calls of the unit when the unit ends. Absent if the unit has made no host calls. */
  abort?: AbortController
}

export interface Thread {
  worker: Worker
  shared: Int32Array<SharedArrayBuffer>
  replies: MessagePort
  isReady: boolean
  nativeId: number | undefined
  /** The batch in progress; undefined if the thread is idle. */
  batch: { tenantId: string; units: Unit[] } | undefined
  /** The current unit at the last check of the watchdog, and the time at which it was first seen. */
  seen: { unit: number | undefined; at: number }
  /**
   * True if the current unit has run for longer than `slowAfterMs` (`pool.ts`), or has called a host function. The thread then does not
   * count as active.
   */
  isSlow: boolean
  hasLowPriority: boolean
  /** True if the thread ends after its batch, because its priority cannot be raised again. */
  isRetiring: boolean
  /** The unit for which the watchdog terminated the thread. */
  killedUnit: number | undefined
  idleSince: number
}

export interface ThreadEvents {
  ready(thread: Thread): void
  outcomes(thread: Thread, message: Extract<FromWorker, { type: 'outcomes' }>): void
  call(thread: Thread, message: CallMessage): void
  ended(thread: Thread, error: unknown): void
}

export function startThread(options: MachineOptions, events: ThreadEvents): Thread {
  const shared = new Int32Array(new SharedArrayBuffer(Object.keys(cells).length * 4))
  const { port1, port2 } = new MessageChannel()
  const cache = getCompileCacheDir()
  const data: WorkerData = { ...options, shared, replies: port2, compileCache: cache && dirname(cache) }
  const worker = new Worker(new URL('./worker-start.mjs', import.meta.url), {
    workerData: data,
    transferList: [port2],
    env: {},
    argv: [],
    execArgv: [],
    // Uncaught output of a thread must not appear between the log lines of the platform.
    stdout: true,
    stderr: true,
    // A limit of the heap would include the WebAssembly memory, and cause a garbage collection whenever that memory grows.
    resourceLimits: { stackSizeMb: 8 },
  })
  port1.unref()
  const thread: Thread = {
    worker,
    shared,
    replies: port1,
    isReady: false,
    nativeId: undefined,
    batch: undefined,
    seen: { unit: undefined, at: 0 },
    isSlow: false,
    hasLowPriority: false,
    isRetiring: false,
    killedUnit: undefined,
    idleSince: 0,
  }
  let failure: unknown
  worker.on('error', (error) => (failure = error))
  worker.on('exit', () => {
    port1.close()
    events.ended(thread, failure)
  })
  worker.on('message', (message: FromWorker) => {
    if (message.type === 'outcomes') return events.outcomes(thread, message)
    if (message.type === 'call') return events.call(thread, message)
    thread.isReady = true
    thread.nativeId = message.threadId
    events.ready(thread)
  })
  return thread
}

export function reply({ replies, shared }: Thread, message: CallReply) {
  replies.postMessage(message)
  Atomics.store(shared, cells.replied, 1)
  Atomics.notify(shared, cells.replied)
}

export const isWaiting = ({ shared }: Thread) => Atomics.load(shared, cells.waiting) === 1

/** Returns the number of the unit that the thread is running. */
export function currentUnit({ shared }: Thread): number | undefined {
  const current = Atomics.load(shared, cells.current)
  return current === 0 ? undefined : current - 1
}

/**
 * A thread with this priority gets a third of the processor time of a normal thread. With a much lower priority, its script would time out
 * on a busy machine.
 */
const lowPriority = 5

/**
 * Lowers the priority of a thread that runs for long, so that short scripts and the rest of the platform get the processor first. Linux
 * accepts the id of a thread here. On other systems the id is unknown, and nothing happens.
 */
export function lowerPriority(thread: Thread) {
  if (thread.nativeId === undefined) return
  try {
    setPriority(thread.nativeId, lowPriority)
    thread.hasLowPriority = true
  } catch {
    // Without the permission, all threads keep the same priority.
    thread.nativeId = undefined
  }
}

/** Restores the priority. Only root may raise a priority; otherwise the thread ends after its batch. */
export function restorePriority(thread: Thread) {
  if (!thread.hasLowPriority) return
  try {
    setPriority(thread.nativeId!, 0)
    thread.hasLowPriority = false
  } catch {
    thread.isRetiring = true
  }
}
