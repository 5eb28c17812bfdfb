/**
 * Combines the steps of many sessions into few transactions. A step is one read or write of a session (session-steps.ts). Steps that arrive
 * while a transaction runs form the next batch. A batch is split into rounds with at most one kind of step for each session key, so that
 * the steps of a session run in order.
 */
export interface Step<K extends string> {
  kind: K
  key: string
}

interface Waiting<S> {
  step: S
  resolve(answer: unknown): void
  reject(error: unknown): void
}

export interface SessionBatches<S> {
  run<A>(step: S): Promise<A>
  /** Resolves when all steps are done. */
  settled(): Promise<void>
}

/** Splits steps into rounds. A round may contain several steps for the same key only if their kind is in `together`. */
export function splitIntoRounds<S extends Step<string>>(steps: S[], together: Set<string>): S[][] {
  const rounds: S[][] = []
  const last = new Map<string, { round: number; kind: string }>()
  for (const step of steps) {
    const before = last.get(step.key)
    const joins = before && before.kind === step.kind && together.has(step.kind)
    const round = before ? before.round + (joins ? 0 : 1) : 0
    last.set(step.key, { round, kind: step.kind })
    rounds[round] ??= []
    rounds[round].push(step)
  }
  return rounds
}

export function createSessionBatches<S extends Step<string>>(
  run: (steps: S[]) => Promise<Map<S, unknown>>,
  { atOnce, waitingMax }: { atOnce: number; waitingMax: number },
): SessionBatches<S> {
  const waiting: Waiting<S>[] = []
  let running: Promise<void> | undefined

  async function runBatches() {
    // Further steps of this turn are added to the batch.
    await Promise.resolve()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, atOnce)
      try {
        const answers = await run(batch.map(({ step }) => step))
        for (const { step, resolve } of batch) resolve(answers.get(step))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = undefined
  }

  return {
    run<A>(step: S): Promise<A> {
      if (waiting.length >= waitingMax) return Promise.reject(new Error('Too many sessions wait for the database'))
      return new Promise<A>((resolve, reject) => {
        waiting.push({ step, resolve: resolve as (answer: unknown) => void, reject })
        running ??= runBatches()
      })
    },
    async settled() {
      await running
    },
  }
}
