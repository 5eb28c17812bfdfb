/**
 * Selects the target of an endpoint, which is the version that is offered to it (document 3, 1.19; document 5, 4.5). The functions are pure
 * and work on the versions of an application. `store/targets.ts` implements the same rule in SQL, for many endpoints.
 */
import { comparePrecedence } from './semantic-version.ts'

export type RolloutStrategy = 'suspended' | 'targeted' | 'general'
export type RolloutState = 'active' | 'paused' | 'halted'

export interface PlannedFilter {
  /** The bit of the filter in `Matches`. Undefined while the filter is not ready, and after it was deleted: it then matches no endpoint. */
  bit?: number
  /** Time from which the filter applies, in milliseconds since 1970. If undefined, it applies immediately. */
  date?: number
}

export interface PlannedVersion {
  number: number
  version: string
  upgradableFrom: number[]
  strategy: RolloutStrategy
  state: RolloutState
  filters: PlannedFilter[]
  /** False while the version must not be offered, because its file is missing and `skipDispatchingToEndpoint` is set. */
  hasContent: boolean
  /** The failure threshold; absent for a version without a threshold. */
  threshold?: { percent: number; minimumAttempts: number }
  /** Grows with each resume. Only reports of the current epoch count for the failure threshold. */
  epoch: number
  /** Failures before this time do not count. In milliseconds since 1970. */
  resumedAt?: number
}

export interface Plan {
  revision: number
  /** The versions, highest precedence first. Among versions with equal precedence, the version that was created last comes first. */
  versions: PlannedVersion[]
  byNumber: ReadonlyMap<number, PlannedVersion>
  byName: ReadonlyMap<string, PlannedVersion>
  /** By the number of a version: the versions to which it can be upgraded, highest precedence first. */
  candidates: ReadonlyMap<number, PlannedVersion[]>
}

/** The filters that an endpoint matches. The bits of the first 52 filters are in `mask`, the bits of all further filters in `more`. */
export interface Matches {
  mask: number
  more: number[] | null
}

/** Number of bits in a `mask`. JavaScript represents integers up to 2^53 exactly. */
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

/** Creates a plan. `versions` must be in the order of their creation. */
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

/** Returns a plan in which one version is changed. */
export const planWith = (plan: Plan, number: number, change: Partial<PlannedVersion>): Plan =>
  planOf(
    plan.revision,
    plan.versions.map((version) => (version.number === number ? { ...version, ...change } : version)),
  )

/** Returns the bits of the filters that have no date or whose date has passed. */
export const dueBits = ({ filters }: PlannedVersion, at: number): number[] =>
  filters.flatMap(({ bit, date }) => (bit !== undefined && (date === undefined || date <= at) ? [bit] : []))

const reasons = ['suspended', 'paused', 'halted', 'no_file', 'not_matched'] as const
export type Refusal = (typeof reasons)[number] | 'not_reported' | 'no_edge'

/** Returns the reason why the version is not offered to an endpoint that matches these filters; undefined if it is offered. */
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

/** Returns why an endpoint has no target. It is the reason that applies to the highest candidate. */
export function whyNoTarget(plan: Plan, from: number | null | undefined, matches: Matches, at: number): Refusal {
  if (from === null || from === undefined) return 'not_reported'
  const [highest] = plan.candidates.get(from) ?? []
  return highest ? (refusalOf(highest, matches, at) ?? 'no_edge') : 'no_edge'
}

/** The rule that determines the targets of all endpoints with one current version. */
export interface TargetRule {
  from: number
  /** Targeted versions that are offered to members of some filters, highest version first. */
  slots: { target: number; bits: number[] }[]
  /** The highest general version. It is the target if no slot applies. */
  general: number | null
}

/**
 * Returns the rules at the time `at`, one for each current version. Versions below the highest general version can never be a target, so
 * they are left out.
 */
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
 * A condition for a target. An endpoint meets it if its current version is in `from`, it matches no filter of `before`, and it matches a
 * filter of `own`.
 */
export interface TargetCondition {
  from: number[]
  before: number[]
  /** Absent for a general version, which needs no filter. */
  own?: number[]
}

/**
 * Returns the conditions for a target. An endpoint with this target meets exactly one of them. Current versions with the same condition are
 * combined.
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
