/** Runs work outside of requests. Work that fails is repeated. At shutdown, running work is awaited. */
import type { Log } from '../../../kernel/log.ts'
import { pushingTargetsFailed } from '../log-messages.ts'

export interface Background {
  run(work: () => Promise<void>): void
  /** Runs work at most once at a time for each key. If it is requested while it runs, it runs once more afterwards. */
  once(key: string, work: () => Promise<void>): void
  stop(): Promise<void>
}

const retryMs = 1000

export function createBackground({ log }: { log: Log }): Background {
  const running = new Set<Promise<void>>()
  const timers = new Set<NodeJS.Timeout>()
  const keyed = new Map<string, { again: boolean }>()
  let stopped = false

  function runLater(work: () => void) {
    const timer = setTimeout(() => {
      timers.delete(timer)
      work()
    }, retryMs)
    timers.add(timer)
  }

  function run(work: () => Promise<void>) {
    if (stopped) return
    const attempt = work()
      .catch((error) => {
        pushingTargetsFailed(log, { err: error })
        if (!stopped) runLater(() => run(work))
      })
      .finally(() => running.delete(attempt))
    running.add(attempt)
  }

  return {
    run,
    once(key, work) {
      const current = keyed.get(key)
      if (current) {
        current.again = true
        return
      }
      const state = { again: true }
      keyed.set(key, state)
      run(async () => {
        try {
          while (state.again && !stopped) {
            state.again = false
            await work()
          }
        } catch (error) {
          state.again = true
          throw error
        }
        keyed.delete(key)
      })
    },
    async stop() {
      stopped = true
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(running)
    },
  }
}
