/**
 * Reads the data of a topic at intervals while this node has subscriptions. It is for topics whose changes are found by reading a table.
 */
import type { Log } from '../log.ts'
import { liveReadFailed } from './log-messages.ts'

export interface Poll {
  /** Starts or stops reading. Pass this function as `watched` to the definition of the topic. */
  watched(isWatched: boolean): void
}

/** Creates a poll. `read` is called immediately, then again `everyMs` after each call has ended. */
export function createPoll(deps: { topic: string; everyMs: number; read(): Promise<void>; log: Log }): Poll {
  const { topic, everyMs, read, log } = deps
  let isWatched = false
  let timer: NodeJS.Timeout | undefined
  let isReading = false

  async function run() {
    timer = undefined
    isReading = true
    try {
      await read()
    } catch (error) {
      if (isWatched) liveReadFailed(log, { err: error, topic })
    } finally {
      isReading = false
    }
    if (isWatched) timer = setTimeout(run, everyMs).unref()
  }

  return {
    watched(now) {
      isWatched = now
      if (!now) clearTimeout(timer)
      else if (!isReading) void run()
    },
  }
}
