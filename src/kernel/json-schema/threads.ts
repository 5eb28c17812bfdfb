/**
 * Threads that compile and apply JSON schemas of users. Each request has a time limit. A schema, pattern or value that takes long delays
 * only its own request. It delays neither the event loop nor other requests.
 */
import { Worker } from 'node:worker_threads'
import { processorMsOf } from '../thread-time.ts'
import type { Violations } from './compile.ts'

export interface SchemaRequest {
  schema: string
  /** The JSON text to validate. If absent, the schema is only compiled. */
  data?: string | undefined
}

export type SchemaAnswer = Violations | { unusable: Violations }

/** A batch of requests. Each schema is contained only once; requests refer to it by its index. */
export interface ThreadMessage {
  schemas: string[]
  requests: { schema: number; data?: string | undefined }[]
}

/** Null stands for a schema that can be used, or a value without violations. */
export type ThreadAnswer = SchemaAnswer | null

export interface SchemaThreads {
  /**
   * Answers the requests one after the other, on one thread. A request that exceeds its time or memory gets `unusable` and ends the thread.
   * The remaining requests of the batch then have no answer.
   */
  run(requests: SchemaRequest[]): Promise<(SchemaAnswer | Error | undefined)[]>
}

/**
 * Maximum processor time of one request on the thread. Elapsed time would fail harmless requests on a busy node. A schema of 64 KiB
 * compiles within 100 ms. If the system does not report the processor time, elapsed time counts.
 */
const timeLimitMs = 2000
/** Maximum elapsed time of one request, in case its thread hardly gets any processor time. */
const elapsedLimitMs = 30_000
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
/** Time limit for the start of a thread, which loads Ajv. */
const startLimitMs = 30_000
const idleMs = 60_000
/** Interval at which a busy thread is checked. A request that begins between two checks gets up to this much additional time. */
const checkMs = 250

/** The value of `progress` before the thread begins with the first request. */
export const notBegun = -1

/** Cells of the memory that a thread shares: the index of the request that it works on, and its thread id in Linux (0 on other systems). */
export const cells = { progress: 0, nativeId: 1 }

interface Thread {
  worker: Worker
  /** Memory with `cells`. */
  shared: Int32Array
  /** Ends the thread if it exceeds a limit, or has no request for a while. */
  timer: NodeJS.Timeout | undefined
  /** Resolves the current batch with its answers. */
  give: ((answers: (SchemaAnswer | Error | undefined)[]) => void) | undefined
}

/** The request that a thread works on, as first seen by a check. */
interface Watched {
  index: number
  /** Processor time of the thread at the first check during this request. */
  cpuMs: number | undefined
  elapsedMs: number
}

function isTooSlow({ index, cpuMs: before, elapsedMs }: Watched, cpuMs: number | undefined): boolean {
  if (index === notBegun) return elapsedMs >= startLimitMs
  const usedMs = cpuMs === undefined || before === undefined ? elapsedMs : cpuMs - before
  return usedMs >= timeLimitMs || elapsedMs >= elapsedLimitMs
}

const exceeded = (message: string): SchemaAnswer => ({ unusable: { violations: [{ path: '', message }], more: 0 } })
const tooSlow = () =>
  exceeded(`the schema takes more than ${timeLimitMs / 1000} s to compile or to validate this value`)
const tooLarge = () => exceeded('the schema takes too much memory to compile or to validate this value')

/** Creates the threads. Each batch occupies one thread. The caller limits how many batches run at a time. */
export function createSchemaThreads(): SchemaThreads {
  /** Threads without a request. The last thread was used most recently, so it has the most recent schemas compiled. */
  const free: Thread[] = []

  /** Ends a thread. `answer` is for the request in progress. If no request has begun, it is for the first request. */
  function end(thread: Thread, answer?: SchemaAnswer | Error) {
    clearTimeout(thread.timer)
    const index = free.indexOf(thread)
    if (index >= 0) free.splice(index, 1)
    if (answer !== undefined && thread.give) {
      const answers: (SchemaAnswer | Error | undefined)[] = []
      answers[Math.max(0, Atomics.load(thread.shared, cells.progress))] = answer
      thread.give(answers)
    }
    thread.give = undefined
    void thread.worker.terminate()
  }

  /** Checks that the thread reaches the next request in time. `seen` is the request at the last check. */
  function watch(thread: Thread, seen: Watched = { index: notBegun, cpuMs: undefined, elapsedMs: 0 }) {
    thread.timer = setTimeout(() => {
      const index = Atomics.load(thread.shared, cells.progress)
      const cpuMs = processorMsOf(Atomics.load(thread.shared, cells.nativeId))
      const current = index === seen.index ? seen : { index, cpuMs, elapsedMs: -checkMs }
      current.elapsedMs += checkMs
      if (isTooSlow(current, cpuMs)) end(thread, tooSlow())
      else watch(thread, current)
    }, checkMs)
  }

  function newThread(): Thread {
    const shared = new Int32Array(new SharedArrayBuffer(8))
    // The thread gets neither the environment nor the arguments of the process, because a schema must never be able to read them.
    const worker = new Worker(new URL('./worker-thread.ts', import.meta.url), {
      ...{ env: {}, argv: [], resourceLimits },
      workerData: { shared },
    })
    const thread: Thread = { worker, shared, timer: undefined, give: undefined }
    worker.on('message', (answers: ThreadAnswer[]) => {
      thread.give?.(answers.map((answer) => answer ?? { violations: [], more: 0 }))
      release(thread)
    })
    worker.on('error', (error: Error & { code?: string }) =>
      end(thread, error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooLarge() : error),
    )
    worker.on('exit', (code) => end(thread, new Error(`the thread of JSON schemas ended (exit code ${code})`)))
    return thread
  }

  function release(thread: Thread) {
    clearTimeout(thread.timer)
    thread.give = undefined
    thread.worker.unref()
    thread.timer = setTimeout(end, idleMs, thread).unref()
    free.push(thread)
  }

  return {
    run: (requests) =>
      new Promise((resolve) => {
        const thread = free.pop() ?? newThread()
        clearTimeout(thread.timer)
        Atomics.store(thread.shared, cells.progress, notBegun)
        thread.give = resolve
        thread.worker.ref()
        watch(thread)
        thread.worker.postMessage(messageOf(requests))
      }),
  }
}

function messageOf(requests: SchemaRequest[]): ThreadMessage {
  const schemas = [...new Set(requests.map(({ schema }) => schema))]
  const indexOf = new Map(schemas.map((schema, index) => [schema, index]))
  return { schemas, requests: requests.map(({ schema, data }) => ({ schema: indexOf.get(schema)!, data })) }
}
