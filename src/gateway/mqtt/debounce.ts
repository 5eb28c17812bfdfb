import { sleep } from '../../kernel/clock.ts'
import type { LogMessage } from '../../kernel/define-log-message.ts'
import type { Layer } from './state.ts'

const retryMs = 1000

/**
 * Debounces `work`: all calls within `delayMs`, or while `work` runs, lead to one more run. If `work` fails, the error is logged, and
 * `work` runs again after 1 s.
 */
export function debounce(layer: Layer, logFailure: LogMessage, work: () => Promise<void>, delayMs = 0): () => void {
  let isRequested = false
  let running = false

  async function run() {
    running = true
    for (let waitMs = delayMs; isRequested; ) {
      isRequested = false
      await sleep(waitMs)
      if (layer.closing) break
      try {
        await work()
        waitMs = delayMs
      } catch (error) {
        logFailure(layer.log, { err: error })
        isRequested = true
        waitMs = retryMs
      }
    }
    running = false
  }

  return () => {
    isRequested = true
    if (!running) void run()
  }
}
