/**
 * Selects the target of an endpoint: the version that it is offered (document 3, 1.19; document 5, 4.5). Pure functions over the
 * versions of an application; `store/targets.ts` has the same rule as SQL for many endpoints.
 */
import { comparePrecedence } from './semantic-version.ts'

export type RolloutStrategy = 'suspended' | 'targeted' | 'general'
export type RolloutState = 'active' | 'paused' | 'halted'

export interface PlannedFilter {
  /** Undefined while the filter is not ready, and if it was deleted: it matches no endpoint then. */
  bit?: number
  /** In milliseconds since 1970; undefined if the filter counts at once. */
  date?: number
}

export interface PlannedVersion {
  number: number
  version: string
  upgradableFrom: number[]
  strategy: RolloutStrategy
  state: RolloutState
  filters: PlannedFilter[]
  /** False while the file is missing and `skipDispatchingToEndpoint` is set. */
  hasContent: boolean
  /** The failure threshold, if the version has one. */
  threshold?: { percent: number; minimumAttempts: number }
  epoch: number
  /** Failures before this time do not count. In milliseconds since 1970. */
  resumedAt?: number
}

export interface Plan {
  revision: number
  /** The highest precedence first; among equals, the one that was created last. */
  versions: PlannedVersion[]
  byNumber: ReadonlyMap<number, PlannedVersion>
  byName: ReadonlyMap<string, PlannedVersion>
  /** The versions to which a version can be upgraded, in the same order. */
  candidates: ReadonlyMap<number, PlannedVersion[]>
}

/** Filters that an endpoint matches: bits of the first 52 in `mask`, the others in `more`. */
export interface Matches {
  mask: number
  more: number[] | null
}

/** The bits that fit into an integer that JavaScript represents exactly. */
export const maskBits = 52

export const noMatches: Matches = { mask: 0, more: null }

export const matchesOf = (filterNumbers: number[]): Matches => {
  // A version may name a filter several times, with different dates.
  const bits = [...new Set(filterNumbers)]
  const more = bits.filter((bit) => bit >= maskBits).sort((a, b) => a - b)
  return {
    mask: bits.filter((bit) => bit < maskBits).reduce((sum, bit) => sum + 2 ** bit, 0),
    more: more.length > 0 ? more : null,
  }
}

const hasBit = ({ mask, more }: Matches, bit: number) =>
  bit < maskBits ? Math.floor(mask / 2 ** bit) % 2 === 1 : (more?.includes(bit) ?? false)

/** `versions` in the order of their creation. */
export function planOf(revision: number, versions: PlannedVersion[]): Plan {
  const sorted = versions.toSorted(
    (one, other) => comparePrecedence(other.version, one.version) || other.number - one.number,
  )
  const candidates = new Map<number, PlannedVersion[]>()
  for (const version of sorted)
    for (const from of version.upgradableFrom) {
      const known = candidates.get(from)
      if (known) known.push(version)
      else candidates.set(from, [version])
    }
  return {
    revision,
    versions: sorted,
    byNumber: new Map(sorted.map((version) => [version.number, version])),
    byName: new Map(sorted.map((version) => [version.version, version])),
    candidates,
  }
}

/** Returns a plan in which one version differs. */
export const planWith = (plan: Plan, number: number, change: Partial<PlannedVersion>): Plan =>
  planOf(
    plan.revision,
    plan.versions.map((version) => (version.number === number ? { ...version, ...change } : version)),
  )

/** Returns the bits of the filters whose date has passed. */
export const dueBits = ({ filters }: PlannedVersion, at: number): number[] =>
  filters.flatMap(({ bit, date }) => (bit !== undefined && (date === undefined || date <= at) ? [bit] : []))

const reasons = ['suspended', 'paused', 'halted', 'no_file', 'not_matched'] as const
export type Refusal = (typeof reasons)[number] | 'not_reported' | 'no_edge'

/** Returns why the version is not offered to such an endpoint; undefined if it is. */
function refusalOf(version: PlannedVersion, matches: Matches, at: number): (typeof reasons)[number] | undefined {
  if (version.strategy === 'suspended') return 'suspended'
  if (version.state !== 'active') return version.state
  if (!version.hasContent) return 'no_file'
  if (version.strategy === 'general') return undefined
  return dueBits(version, at).some((bit) => hasBit(matches, bit)) ? undefined : 'not_matched'
}

/** Returns the target of an endpoint with this current version. */
export function targetOf(
  plan: Plan,
  from: number | null | undefined,
  matches: Matches,
  at: number,
): PlannedVersion | undefined {
  if (from === null || from === undefined) return undefined
  return plan.candidates.get(from)?.find((version) => refusalOf(version, matches, at) === undefined)
}

/** Returns why an endpoint has no target: the reason that applies to the highest candidate. */
export function whyNoTarget(plan: Plan, from: number | null | undefined, matches: Matches, at: number): Refusal {
  if (from === null || from === undefined) return 'not_reported'
  const [highest] = plan.candidates.get(from) ?? []
  return highest ? (refusalOf(highest, matches, at) ?? 'no_edge') : 'no_edge'
}

/** The rule that gives all endpoints with one current version their targets. */
export interface TargetRule {
  from: number
  /** Targeted versions that some filters let through, the highest first. */
  slots: { target: number; bits: number[] }[]
  /** The highest general version, unless a slot applies. */
  general: number | null
}

/** Returns the rules at a time. Versions below the highest general one can never be a target and are left out. */
export function targetRules(plan: Plan, at: number): TargetRule[] {
  const rules: TargetRule[] = []
  for (const [from, versions] of plan.candidates) {
    const rule: TargetRule = { from, slots: [], general: null }
    for (const version of versions) {
      if (version.strategy === 'suspended' || version.state !== 'active' || !version.hasContent) continue
      if (version.strategy === 'general') {
        rule.general = version.number
        break
      }
      const bits = dueBits(version, at)
      if (bits.length > 0) rule.slots.push({ target: version.number, bits })
    }
    if (rule.general !== null || rule.slots.length > 0) rules.push(rule)
  }
  return rules
}

/**
 * An endpoint has the target if its current version is one of `from`, it matches no filter of `before`, and it
 * matches a filter of `own`.
 */
export interface TargetCondition {
  from: number[]
  before: number[]
  /** Absent for a general version, which needs no filter. */
  own?: number[]
}

/**
 * Returns conditions for a target. For each endpoint with this target, exactly one of them is true. Current versions
 * with the same condition are combined.
 */
export function conditionsOf(plan: Plan, at: number, number: number): TargetCondition[] {
  const conditions = new Map<string, TargetCondition>()
  for (const { from, slots, general } of targetRules(plan, at)) {
    const index = slots.findIndex(({ target }) => target === number)
    if (index === -1 && general !== number) continue
    const earlier = index === -1 ? slots : slots.slice(0, index)
    const before = [...new Set(earlier.flatMap(({ bits }) => bits))].sort((a, b) => a - b)
    const slotBits = slots[index]?.bits
    const key = JSON.stringify([before, slotBits])
    const known = conditions.get(key)
    if (known) known.from.push(from)
    else conditions.set(key, { from: [from], before, ...(slotBits && { own: slotBits }) })
  }
  return [...conditions.values()]
}
