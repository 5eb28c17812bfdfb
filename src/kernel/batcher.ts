import { monotonicMs, sleep } from './clock.ts'

/**
 * Collects requests into batches: requests that arrive while a batch runs form the next batch. If `batchMax` or more wait when a batch
 * ends, the next batch starts immediately. If fewer wait, it starts `everyMs` after the start of the last batch. `everyMs` may be a function
 * of the last batch's size. A request that arrives when no other request runs or waits starts a batch immediately.
 */
export function createBatcher<Q, A>(
  processBatch: (requests: Q[]) => Promise<(A | undefined)[]>,
  batchMax: number,
  everyMs: number | ((lastCount: number) => number) = 0,
) {
  const waiting: { request: Q; resolve(result: A | undefined): void; reject(error: unknown): void }[] = []
  let isRunning = false

  async function run() {
    isRunning = true
    while (waiting.length > 0) {
      const began = monotonicMs()
      const batch = waiting.splice(0, batchMax)
      try {
        const results = await processBatch(batch.map(({ request }) => request))
        for (const [index, { resolve }] of batch.entries()) resolve(results[index])
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      const pauseMs = typeof everyMs === 'number' ? everyMs : everyMs(batch.length)
      const remainingMs = pauseMs - (monotonicMs() - began)
      if (remainingMs > 0 && waiting.length > 0 && waiting.length < batchMax) await sleep(remainingMs)
    }
    isRunning = false
  }

  return (request: Q) =>
    new Promise<A | undefined>((resolve, reject) => {
      waiting.push({ request, resolve, reject })
      if (!isRunning) void run()
    })
}
