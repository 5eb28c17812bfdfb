/**
 * Where certificates and revocation lists are made: a thread that starts with the first order and ends when nothing
 * was ordered for a while, so that a platform that issues nothing pays nothing, and one that does never waits.
 */
import { Worker } from 'node:worker_threads'
import type * as make from './make.ts'

type Tasks = Pick<typeof make, 'makeAuthority' | 'makeCertificate' | 'makeRevocationList'>

export interface Order {
  id: number
  task: keyof Tasks
  input: unknown
}

interface Delivery {
  id: number
  output?: unknown
  problem?: string
}

interface Waiting {
  resolve(output: never): void
  reject(error: Error): void
}

export interface Workshop {
  make<T extends keyof Tasks>(task: T, input: Parameters<Tasks[T]>[0]): Promise<Awaited<ReturnType<Tasks[T]>>>
  close(): Promise<void>
}

const idleMs = 60_000

export function createWorkshop(): Workshop {
  const waiting = new Map<number, Waiting>()
  let thread: Worker | undefined
  let orders = 0
  let idle: NodeJS.Timeout | undefined

  function open(): Worker {
    const opened = new Worker(new URL('./thread.ts', import.meta.url))
    opened.on('message', ({ id, output, problem }: Delivery) => {
      const who = waiting.get(id)
      waiting.delete(id)
      if (waiting.size === 0) rest()
      if (problem === undefined) who?.resolve(output as never)
      else who?.reject(new Error(problem))
    })
    const fail = (error: Error) => {
      if (thread !== opened) return
      thread = undefined
      for (const [id, who] of waiting) {
        waiting.delete(id)
        who.reject(error)
      }
    }
    opened.on('error', fail)
    opened.on('exit', (code) => fail(new Error(`the thread that makes certificates ended (exit code ${code})`)))
    return opened
  }

  async function close() {
    clearTimeout(idle)
    const closing = thread
    thread = undefined
    for (const who of waiting.values()) who.reject(new Error('the platform is stopping'))
    waiting.clear()
    await closing?.terminate()
  }

  function rest() {
    thread?.unref()
    idle = setTimeout(close, idleMs).unref()
  }

  return {
    close,
    make(task, input) {
      clearTimeout(idle)
      thread ??= open()
      thread.ref()
      const id = ++orders
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        thread!.postMessage({ id, task, input } satisfies Order)
      })
    },
  }
}
