/**
 * Counts the runs of chains, in which the effects of rules start further rules. Each node counts only its own runs: a run takes place on
 * the node that stored its event, which is usually the node of the run that caused the event. The limit of the depth applies across nodes.
 */
import { LRUCache } from 'lru-cache'
import { chainDepth, chainRuns } from './context/limits.ts'

export interface Chains {
  /** Counts a run. Returns the reason why the rule must not run, or undefined if it may run. */
  begin(traceId: string, depth: number): string | undefined
}

const chainsMax = 50_000

export function createChains(): Chains {
  const runs = new LRUCache<string, number>({ max: chainsMax })
  return {
    begin(traceId, depth) {
      if (depth > chainDepth) return `the chain of rules is more than ${chainDepth} deep`
      const count = (runs.get(traceId) ?? 0) + 1
      // Nearly all chains have only one run, so counting starts with the second run.
      if (depth > 1 || count > 1) runs.set(traceId, Math.max(2, count))
      return count > chainRuns ? `the chain of rules has more than ${chainRuns} runs` : undefined
    },
  }
}
