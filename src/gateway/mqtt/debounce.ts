import { sleep } from '../../kernel/clock.ts'
import type { Layer } from './state.ts'

const againMs = 1000

/** Work that is wanted now and then: several words at once lead to one look, and one that failed is made again. */
export function soon(layer: Layer, what: string, work: () => Promise<void>, togetherMs = 0): () => void {
  let wanted = false
  let running = false

  async function run() {
    running = true
    for (let pause = togetherMs; wanted; ) {
      wanted = false
      await sleep(pause)
      if (layer.closing) break
      try {
        await work()
        pause = togetherMs
      } catch (error) {
        layer.log.error({ err: error }, `${what} could not be looked at; trying again`)
        wanted = true
        pause = againMs
      }
    }
    running = false
  }

  return () => {
    wanted = true
    if (!running) void run()
  }
}
