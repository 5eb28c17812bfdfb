/** Finds problems in the upgrade graph of the versions of an application. They are shown as warnings, and do not prevent a rollout. */
import type { Plan } from './plan.ts'

/** Returns all versions that can be reached from `starts` over one or more edges. */
function reachableFrom(plan: Plan, starts: number[]): Set<number> {
  const reached = new Set<number>()
  const waiting = [...starts]
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop())
    for (const { number } of plan.candidates.get(from) ?? [])
      if (!reached.has(number)) {
        reached.add(number)
        waiting.push(number)
      }
  return reached
}

export function warningsOf(plan: Plan): (number: number) => string[] {
  const starts = plan.versions.filter(({ upgradableFrom }) => upgradableFrom.length === 0).map(({ number }) => number)
  const reached = reachableFrom(plan, starts)
  return (number) => {
    const version = plan.byNumber.get(number)
    if (!version) return []
    const warnings: string[] = []
    if (reachableFrom(plan, [number]).has(number))
      warnings.push(
        `${version.version} lies on a cycle of the upgrade graph: the version can be offered to an endpoint again and again`,
      )
    if (version.upgradableFrom.length > 0 && !reached.has(number))
      warnings.push(`No starting point, which is a version with an empty upgradableFrom, leads to ${version.version}`)
    return warnings
  }
}
