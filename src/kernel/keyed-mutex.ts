/** Mutual exclusion by key: tasks with the same key run one after the other, in the order of their arrival. */
import { TooManyRequests } from './errors.ts'

export interface KeyedMutex {
  /** Runs the task after the earlier tasks of its key, even if they fail. Without earlier tasks, runs it immediately. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
  isBusy(key: string): boolean
}

interface Queue {
  last: Promise<unknown>
  /** Number of running and waiting tasks. */
  count: number
}

/** Creates a mutex. If `waitingMax` tasks already wait for a key, further tasks fail with 429. */
export function createKeyedMutex({ waitingMax = Number.POSITIVE_INFINITY } = {}): KeyedMutex {
  const queues = new Map<string, Queue>()

  function enqueue<T>(queue: Queue, key: string, work: () => Promise<T>): Promise<T> {
    const finish = () => {
      if (--queue.count === 0) queues.delete(key)
    }
    const result = queue.last.then(work)
    queue.last = result.then(finish, finish)
    return result
  }

  /** Starts the task. The queue is added before the start, because the task may enqueue more tasks for its key. */
  async function startNow<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const queue = { last: promise, count: 1 }
    queues.set(key, queue)
    try {
      return await work()
    } finally {
      if (--queue.count === 0) queues.delete(key)
      resolve()
    }
  }

  return {
    async run(key, work) {
      const queue = queues.get(key)
      if (!queue) return startNow(key, work)
      if (queue.count > waitingMax) throw TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })
      queue.count++
      return enqueue(queue, key, work)
    },
    isBusy: (key) => queues.size > 0 && queues.has(key),
  }
}
