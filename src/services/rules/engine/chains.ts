/**
 * Counts the runs of chains: rules whose effects start further rules. Each node counts only the runs on itself, because a run takes place
 * on the node that stored its event. The limit of the depth holds across nodes.
 */
import { LRUCache } from 'lru-cache'
import { chainDepth, chainRuns } from './context/limits.ts'

export interface Chains {
  /** Counts a run. Returns the reason why the rule must not run, or undefined. */
  begin(traceId: string, depth: number): string | undefined
}

const chainsMax = 50_000

export function createChains(): Chains {
  const runs = new LRUCache<string, number>({ max: chainsMax })
  return {
    begin(traceId, depth) {
      if (depth > chainDepth) return `the chain of rules is more than ${chainDepth} deep`
      const count = (runs.get(traceId) ?? 0) + 1
      // Nearly all chains have one run. A chain is therefore counted only from its second run on.
      if (depth > 1 || count > 1) runs.set(traceId, Math.max(2, count))
      return count > chainRuns ? `the chain of rules has more than ${chainRuns} runs` : undefined
    },
  }
}
