/**
 * Questions that come while one is being answered are asked together: a fleet that comes back after a restart costs a
 * few queries, and a flood of false tokens keeps one connection busy and not all of them. The first is asked at once.
 */
export function gather<Q, A>(ask: (questions: Q[]) => Promise<(A | undefined)[]>, atOnce: number) {
  const waiting: { question: Q; resolve(answer: A | undefined): void; reject(error: unknown): void }[] = []
  let asking = false

  async function run() {
    asking = true
    while (waiting.length > 0) {
      const batch = waiting.splice(0, atOnce)
      try {
        const answers = await ask(batch.map(({ question }) => question))
        for (const [index, { resolve }] of batch.entries()) resolve(answers[index])
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    asking = false
  }

  return (question: Q) =>
    new Promise<A | undefined>((resolve, reject) => {
      waiting.push({ question, resolve, reject })
      if (!asking) void run()
    })
}
