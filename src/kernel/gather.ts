import { monotonicMs, sleep } from './clock.ts'

/**
 * Questions that come while one is being answered are asked together: a fleet that comes back after a restart costs a
 * few queries, and a flood of false tokens keeps one connection busy and not all of them. The first is asked at once;
 * those behind it at most every few milliseconds, unless there are enough of them.
 */
export function gather<Q, A>(ask: (questions: Q[]) => Promise<(A | undefined)[]>, atOnce: number, everyMs = 0) {
  const waiting: { question: Q; resolve(answer: A | undefined): void; reject(error: unknown): void }[] = []
  let asking = false

  async function run() {
    asking = true
    while (waiting.length > 0) {
      const began = monotonicMs()
      const batch = waiting.splice(0, atOnce)
      try {
        const answers = await ask(batch.map(({ question }) => question))
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index])
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
      const rest = everyMs - (monotonicMs() - began)
      if (rest > 0 && waiting.length > 0 && waiting.length < atOnce) await sleep(rest)
    }
    asking = false
  }

  return (question: Q) =>
    new Promise<A | undefined>((resolve, reject) => {
      waiting.push({ question, resolve, reject })
      if (!asking) void run()
    })
}
