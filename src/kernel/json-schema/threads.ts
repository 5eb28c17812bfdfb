/**
 * Threads that compile and apply JSON schemas of users. Each request has a time limit: a schema, pattern or value that takes long costs its own
 * request, and neither the event loop nor the requests of others.
 */
import { Worker } from 'node:worker_threads'
import type { Violations } from './compile.ts'

export interface SchemaRequest {
  schema: string
  /** JSON text to validate. Absent: the schema is only compiled. */
  data?: string | undefined
}

export type SchemaAnswer = Violations | { unusable: Violations }

/** A batch of requests, with each schema once. */
export interface ThreadMessage {
  schemas: string[]
  requests: { schema: number; data?: string | undefined }[]
}

/** Null stands for a schema that can be used, or a value without violations. */
export type ThreadAnswer = SchemaAnswer | null

export interface SchemaThreads {
  /**
   * Answers the requests one after the other, on one thread. A request that exceeds its time or memory ends the thread and gets `unusable`; the
   * other requests of the batch then have no answer.
   */
  run(requests: SchemaRequest[]): Promise<(SchemaAnswer | Error | undefined)[]>
}

/** Limits of one request, from its start on the thread. A schema of 64 KiB compiles within 100 ms. */
const timeLimitMs = 2000
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
/** Time limit for the start of a thread, which loads Ajv. */
const startLimitMs = 30_000
const idleMs = 60_000
/** Interval at which a busy thread is checked. A thread that begins a request between two checks has up to this time more. */
const checkMs = 250

/** The value of `progress` before the thread begins with the first request. */
export const notBegun = -1

interface Thread {
  worker: Worker
  /** The index of the request that the thread works on. */
  progress: Int32Array
  /** Ends the thread if it exceeds a limit, or has no request for a while. */
  timer: NodeJS.Timeout | undefined
  /** Resolves the current batch with its answers. */
  give: ((answers: (SchemaAnswer | Error | undefined)[]) => void) | undefined
}

const exceeded = (message: string): SchemaAnswer => ({ unusable: { violations: [{ path: '', message }], more: 0 } })
const tooSlow = () =>
  exceeded(`the schema takes more than ${timeLimitMs / 1000} s to compile or to validate this value`)
const tooLarge = () => exceeded('the schema takes too much memory to compile or to validate this value')

/** The caller limits how many batches run at a time: each of them occupies one thread. */
export function createSchemaThreads(): SchemaThreads {
  /** Threads without a request; the last one was used last, and has the most recent schemas compiled. */
  const free: Thread[] = []

  /** Ends a thread. `answer` is for the request in progress; if none has begun, it is for the first request. */
  function end(thread: Thread, answer?: SchemaAnswer | Error) {
    clearTimeout(thread.timer)
    const index = free.indexOf(thread)
    if (index >= 0) free.splice(index, 1)
    if (answer !== undefined && thread.give) {
      const answers: (SchemaAnswer | Error | undefined)[] = []
      answers[Math.max(0, Atomics.load(thread.progress, 0))] = answer
      thread.give(answers)
    }
    thread.give = undefined
    void thread.worker.terminate()
  }

  /** Checks that the thread proceeds to the next request in time. */
  function watch(thread: Thread, seen = notBegun, ms = 0) {
    thread.timer = setTimeout(() => {
      const current = Atomics.load(thread.progress, 0)
      const sinceMs = current === seen ? ms + checkMs : 0
      if (sinceMs >= (current === notBegun ? startLimitMs : timeLimitMs)) end(thread, tooSlow())
      else watch(thread, current, sinceMs)
    }, checkMs)
  }

  function newThread(): Thread {
    const progress = new Int32Array(new SharedArrayBuffer(4))
    // The thread gets neither the environment nor the arguments of the process, because a schema must never reach them.
    const worker = new Worker(new URL('./worker-thread.ts', import.meta.url), {
      ...{ env: {}, argv: [], resourceLimits },
      workerData: { progress },
    })
    const thread: Thread = { worker, progress, timer: undefined, give: undefined }
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
        Atomics.store(thread.progress, 0, notBegun)
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
