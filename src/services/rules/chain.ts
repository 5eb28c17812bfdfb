/**
 * Chains of runs: the effects of an action may trigger further rules. The `cause` of a sample, point, metadata change or alert names the
 * chain. A run that such a change triggers continues the chain one level deeper (document 5, 5.13).
 */

export interface Chain {
  /** Id of the chain; all runs of the chain share it. */
  traceId: string
  /** The depth of a run in the chain, from 1. */
  depth: number
}

/** Returns the cause to record with the changes that a run makes. */
export const causeOf = ({ traceId, depth }: Chain) => `${traceId}/${depth + 1}`

/** Returns the chain and depth of the run that a change triggers. Returns undefined if no rule made the change. */
export function chainOf(cause: string | undefined): Chain | undefined {
  const [, traceId, depth] = /^([^/]+)\/(\d+)$/.exec(cause ?? '') ?? []
  return traceId === undefined ? undefined : { traceId, depth: Number(depth) }
}
