/**
 * The worker thread that creates certificates and revocation lists. It starts with the first request and ends after ten seconds without a
 * request, because an idle thread keeps its memory.
 */
import { Worker } from 'node:worker_threads'
import type * as make from './x509.ts'

type Tasks = Pick<typeof make, 'makeAuthority' | 'makeCertificate' | 'makeRevocationList'>

export interface PkiRequest {
  id: number
  task: keyof Tasks
  input: unknown
}

interface PkiResponse {
  id: number
  output?: unknown
  problem?: string
}

interface PendingRequest {
  resolve(output: never): void
  reject(error: Error): void
}

export interface PkiWorker {
  make<T extends keyof Tasks>(task: T, input: Parameters<Tasks[T]>[0]): Promise<Awaited<ReturnType<Tasks[T]>>>
  close(): Promise<void>
}

const idleMs = 10_000

export function createPkiWorker(): PkiWorker {
  const pending = new Map<number, PendingRequest>()
  let thread: Worker | undefined
  let requestCount = 0
  let idle: NodeJS.Timeout | undefined

  function startThread(): Worker {
    const started = new Worker(new URL('./worker-thread.ts', import.meta.url))
    started.on('message', ({ id, output, problem }: PkiResponse) => {
      const request = pending.get(id)
      pending.delete(id)
      if (pending.size === 0) stopWhenIdle()
      if (problem === undefined) request?.resolve(output as never)
      else request?.reject(new Error(problem))
    })
    const fail = (error: Error) => {
      if (thread !== started) return
      thread = undefined
      for (const [id, request] of pending) {
        pending.delete(id)
        request.reject(error)
      }
    }
    started.on('error', fail)
    started.on('exit', (code) => fail(new Error(`the worker thread for certificates ended (exit code ${code})`)))
    return started
  }

  async function close() {
    clearTimeout(idle)
    const closing = thread
    thread = undefined
    for (const request of pending.values()) request.reject(new Error('the platform is stopping'))
    pending.clear()
    await closing?.terminate()
  }

  function stopWhenIdle() {
    thread?.unref()
    idle = setTimeout(close, idleMs).unref()
  }

  return {
    close,
    make(task, input) {
      clearTimeout(idle)
      thread ??= startThread()
      thread.ref()
      const id = ++requestCount
      return new Promise((resolve, reject) => {
        pending.set(id, { resolve, reject })
        thread!.postMessage({ id, task, input } satisfies PkiRequest)
      })
    },
  }
}
