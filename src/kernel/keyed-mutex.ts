/** Mutual exclusion by key: work on one key runs one at a time, in the order of arrival. */
import { TooManyRequests } from './errors.ts'

export interface KeyedMutex {
  /** Starts at once where nothing runs for the key. A failure of the work before does not matter to it. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>
  isBusy(key: string): boolean
}

interface Line {
  last: Promise<unknown>
  /** Running and waiting. */
  count: number
}

/** `waitingMax`: 429 for more than these behind the one that runs. Waiting work holds no connection. */
export function createKeyedMutex({ waitingMax = Number.POSITIVE_INFINITY } = {}): KeyedMutex {
  const lines = new Map<string, Line>()

  function enqueue<T>(line: Line, key: string, work: () => Promise<T>): Promise<T> {
    const leave = () => {
      if (--line.count === 0) lines.delete(key)
    }
    const mine = line.last.then(work)
    line.last = mine.then(leave, leave)
    return mine
  }

  /** The line stands before the work starts, which may enqueue more for its key. */
  async function startAtOnce<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const line = { last: promise, count: 1 }
    lines.set(key, line)
    try {
      return await work()
    } finally {
      if (--line.count === 0) lines.delete(key)
      resolve()
    }
  }

  return {
    async run(key, work) {
      const line = lines.get(key)
      if (!line) return startAtOnce(key, work)
      if (line.count > waitingMax) throw TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })
      line.count++
      return enqueue(line, key, work)
    },
    isBusy: (key) => lines.size > 0 && lines.has(key),
  }
}
