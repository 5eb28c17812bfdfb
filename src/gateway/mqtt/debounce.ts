import { sleep } from '../../kernel/clock.ts'
import type { LogMessage } from '../../kernel/define-log-message.ts'
import type { Layer } from './state.ts'

const retryMs = 1000

/** Debounces work: calls within `delayMs`, or while it runs, lead to one run. Failed work is logged and retried after 1 s. */
export function debounce(layer: Layer, failed: LogMessage, work: () => Promise<void>, delayMs = 0): () => void {
  let wanted = false
  let running = false

  async function run() {
    running = true
    for (let waitMs = delayMs; wanted; ) {
      wanted = false
      await sleep(waitMs)
      if (layer.closing) break
      try {
        await work()
        waitMs = delayMs
      } catch (error) {
        failed(layer.log, { err: error })
        wanted = true
        waitMs = retryMs
      }
    }
    running = false
  }

  return () => {
    wanted = true
    if (!running) void run()
  }
}
