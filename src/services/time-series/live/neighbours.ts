/** Which other processes there are, and whether they have heard what was told them. */

export interface Neighbours {
  /** It is there: it said something. */
  met(node: string): void
  left(node: string): void
  heard(node: string, round: number): void
  hasAny(): boolean
  /**
   * Sends something with a number and waits until all have answered with it. False: somebody has not; it is forgotten until it is
   * heard of again, so that one that was killed is waited for once.
   */
  tell(send: (round: number) => Promise<boolean>): Promise<boolean>
  stop(): void
}

export function createNeighbours(patienceMs: number): Neighbours {
  const known = new Set<string>()
  const waiting = new Map<number, { missing: Set<string>; done(all: boolean): void }>()
  let rounds = 0

  function answered(node: string, round: number) {
    const own = waiting.get(round)
    if (own?.missing.delete(node) && own.missing.size === 0) own.done(true)
  }

  return {
    met: (node) => void known.add(node),
    left(node) {
      known.delete(node)
      for (const round of [...waiting.keys()]) answered(node, round)
    },
    heard(node, round) {
      known.add(node)
      answered(node, round)
    },
    hasAny: () => known.size > 0,
    async tell(send) {
      const round = ++rounds
      const missing = new Set(known)
      const all = new Promise<boolean>((resolve) => {
        if (missing.size === 0) return resolve(true)
        const timer = setTimeout(() => {
          for (const node of missing) known.delete(node)
          done(false)
        }, patienceMs)
        const done = (everybody: boolean) => {
          clearTimeout(timer)
          waiting.delete(round)
          resolve(everybody)
        }
        waiting.set(round, { missing, done })
      })
      if (!(await Promise.race([send(round), all]))) waiting.get(round)?.done(false)
      return await all
    },
    stop() {
      for (const { done } of [...waiting.values()]) done(false)
    },
  }
}
