/**
 * Threads that compile and apply JSON schemas of users. A request has a thread of its own and a time limit: a schema, pattern or value that
 * takes long costs its own request, and neither the event loop nor the requests of others.
 */
import { Worker } from 'node:worker_threads'
import type { Violations } from './compile.ts'

export interface SchemaRequest {
  schema: string
  /** JSON text to validate. Absent: the schema is only compiled. */
  data?: string | undefined
}

export type SchemaAnswer = Violations | { unusable: Violations }

export interface SchemaThreads {
  /** Answers `unusable` if the thread exceeds its time or its memory. */
  ask(request: SchemaRequest): Promise<SchemaAnswer>
}

/** Limits of one request, from its begin on the thread. A schema of 64 KiB compiles within 100 ms. */
const timeLimitMs = 2000
const resourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
/** The start of a thread loads Ajv. */
const startLimitMs = 30_000
const idleMs = 60_000

interface Thread {
  worker: Worker
  /** Ends the thread if it exceeds a limit, or has no request for a while. */
  timer: NodeJS.Timeout | undefined
  /** Answers the current request. */
  give: ((answer: SchemaAnswer | Error) => void) | undefined
}

const exceeded = (message: string): SchemaAnswer => ({ unusable: { violations: [{ path: '', message }], more: 0 } })
const tooSlow = () =>
  exceeded(`the schema takes more than ${timeLimitMs / 1000} s to compile or to validate this value`)
const tooLarge = () => exceeded('the schema takes too much memory to compile or to validate this value')

/** The caller limits how many requests run at a time: each of them occupies one thread. */
export function createSchemaThreads(): SchemaThreads {
  /** Threads without a request; the last one was used last, and has the most recent schemas compiled. */
  const free: Thread[] = []

  function end(thread: Thread, answer?: SchemaAnswer | Error) {
    clearTimeout(thread.timer)
    const index = free.indexOf(thread)
    if (index >= 0) free.splice(index, 1)
    if (answer !== undefined) thread.give?.(answer)
    thread.give = undefined
    void thread.worker.terminate()
  }

  function limitTime(thread: Thread, ms: number) {
    clearTimeout(thread.timer)
    thread.timer = setTimeout(() => end(thread, tooSlow()), ms)
  }

  function newThread(): Thread {
    // Without the environment and the arguments of the process, which a schema must never reach.
    const worker = new Worker(new URL('./worker-thread.ts', import.meta.url), { env: {}, argv: [], resourceLimits })
    const thread: Thread = { worker, timer: undefined, give: undefined }
    worker.on('message', (message: 'began' | SchemaAnswer) => {
      if (message === 'began') return limitTime(thread, timeLimitMs)
      thread.give?.(message)
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
    ask: (request) =>
      new Promise((resolve, reject) => {
        const thread = free.pop() ?? newThread()
        thread.give = (answer) => (answer instanceof Error ? reject(answer) : resolve(answer))
        thread.worker.ref()
        limitTime(thread, startLimitMs)
        thread.worker.postMessage(request)
      }),
  }
}
