/**
 * Computes the targets of many endpoints in one scan of their rows. The rules of plan.ts become a small relation with one row for each
 * current version, which is joined by hash. Testing whether an endpoint matches a filter of a version usually takes one operation on
 * integers. Nothing is written.
 */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import { conditionsOf, matchesOf, type Plan, type TargetCondition, targetRules } from '../plan.ts'
import type { ApplicationKey } from './versions.ts'

export interface TargetPlan {
  plan: Plan
  at: number
}

const concatenated = (sql: Sql, fragments: Fragment[]) => fragments.reduce((before, one) => sql`${before}${one}`, sql``)

const ofApplication = (sql: Sql, { tenantId, applicationName }: ApplicationKey) =>
  sql`tenant_id = ${tenantId} and application_name = ${applicationName}`

/** Rounds up to a power of two, so that few different statements are prepared. */
const roundUp = (count: number) => (count === 0 ? 0 : 2 ** Math.ceil(Math.log2(count)))

/**
 * Returns a relation with the columns of `software.endpoints`, and with `target`, `failure` (the failed version, unless its rollout was
 * resumed since) and `state` (document 5, 4.9).
 */
export function withTargets(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  { plan, at }: TargetPlan,
): Fragment {
  const rules = targetRules(plan, at)
  const width = roundUp(Math.max(0, ...rules.map(({ slots }) => slots.length)))
  const slots = Array.from({ length: width }, (_, index) => slotOf(sql, rules, index))
  const name = (text: string, index: number) => sql.unsafe(`${text}${index}`) as Fragment
  const relation = sql`unnest(${rules.map(({ from }) => from)}::integer[], ${rules.map(({ general }) => general)}::integer[]
    ${concatenated(
      sql,
      slots.map(({ columns }) => sql`, ${columns}`),
    )}) as rule(number, general
    ${concatenated(
      sql,
      slots.map((_, i) => sql`, ${name('target', i)}, ${name('mask', i)}, ${name('more', i)}`),
    )})`
  const hasMore = rules.some((rule) => rule.slots.some(({ bits }) => matchesOf(bits).more !== null))
  const branches = slots.map((_, index) => {
    const more = hasMore ? sql` or s.more_filters && rule.${name('more', index)}::integer[]` : sql``
    return sql` when s.filter_mask & rule.${name('mask', index)} <> 0${more} then rule.${name('target', index)}`
  })
  const target = width === 0 ? sql`rule.general` : sql`case ${concatenated(sql, branches)} else rule.general end`
  const resumed = plan.versions.filter(({ resumedAt }) => resumedAt !== undefined)
  const failure =
    resumed.length === 0
      ? sql`t.failed`
      : sql`case when t.reported_date < (
          select resumed.at from unnest(${resumed.map(({ number }) => number)}::integer[],
            ${resumed.map(({ resumedAt }) => new Date(resumedAt!))}::timestamptz[]) as resumed(number, at)
          where resumed.number = t.failed) then null else t.failed end`
  return sql`
    select f.*, case
      when f.target is not null and f.target is distinct from (f.offered) and f.target is distinct from (f.failure) then 'waiting'
      when f.offered is not null then 'offered'
      when f.failure is not null then 'failed'
      else 'current' end as state
    from (select t.*, case when t.failed is not null then ${failure} end as failure
      from (select s.*, ${target} as target from software.endpoints s left join ${relation} on rule.number = s.current
        where s.tenant_id = ${tenantId} and s.application_name = ${applicationName}) t) f`
}

/** Returns the columns of one slot for all rules: the target, the bits of the mask, and the other filters. */
function slotOf(sql: Sql, rules: ReturnType<typeof targetRules>, index: number) {
  const slots = rules.map(({ slots }) => slots[index])
  const matches = slots.map((slot) => matchesOf(slot?.bits ?? []))
  return {
    columns: sql`${slots.map((slot) => slot?.target ?? null)}::integer[], ${matches.map(({ mask }) => mask)}::bigint[],
      ${matches.map(({ more }) => `{${more?.join() ?? ''}}`)}::text[]`,
  }
}

/** Returns whether a row has this target. It compares with only one version, while `withTargets` computes the target of every row. */
function hasTarget(sql: Sql, { plan, at }: TargetPlan, number: number): Fragment {
  const conditions = conditionsOf(plan, at, number).map((condition) => conditionFragment(sql, condition))
  return conditions.length === 0 ? sql`false` : sql`(${joined(sql, conditions, sql` or `)})`
}

const joined = (sql: Sql, [first, ...others]: Fragment[], separator: Fragment) =>
  concatenated(sql, [first!, ...others.map((one) => sql`${separator}${one}`)])

function conditionFragment(sql: Sql, { from, before, own }: TargetCondition): Fragment {
  const matches = (filterNumbers: number[]) => {
    const { mask, more } = matchesOf(filterNumbers)
    const others = more ? sql` or coalesce(more_filters && ${more}::integer[], false)` : sql``
    return sql`(filter_mask & ${mask}::bigint <> 0${others})`
  }
  // Filters are compared first, because most rows match none of them.
  return sql`(${own ? sql`${matches(own)} and` : sql``} ${before.length > 0 ? sql`not ${matches(before)} and` : sql``}
    ${isCurrent(sql, from)})`
}

/** Number of ranges up to which comparisons are faster than `get_bit`. With one range, a row takes 20 ns less. */
const rangesMax = 2

/** Returns whether the current version of a row has one of these numbers. */
function isCurrent(sql: Sql, numbers: number[]): Fragment {
  const ranges = rangesOf(numbers)
  if (ranges.length <= rangesMax)
    return sql`(${joined(
      sql,
      ranges.map(({ first, last }) => sql`current between ${first} and ${last}`),
      sql` or `,
    )})`
  const bits = bitsOf(numbers)
  return sql`case when current < ${bits.length * 8} then get_bit(${bits}::bytea, current) = 1 else false end`
}

/** Returns the ranges of consecutive numbers. */
function rangesOf(numbers: number[]): { first: number; last: number }[] {
  const ranges: { first: number; last: number }[] = []
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range && number === range.last + 1) range.last = number
    else ranges.push({ first: number, last: number })
  }
  return ranges
}

/**
 * Returns bytes in which the bits of these numbers are set, in the bit order of `get_bit`. The time of a lookup does not depend on the
 * count of numbers.
 */
function bitsOf(numbers: number[]): Buffer {
  const bytes = Buffer.alloc(Math.floor(Math.max(...numbers) / 8) + 1)
  for (const number of numbers) bytes[number >> 3]! |= 1 << (number & 7)
  return bytes
}

export interface Counts {
  waiting: number
  offered: number
  applied: number
  failed: number
}

/** One sum contains two counts; the second count is multiplied by this factor. Each count is less than 2^30, and the sum is a bigint. */
const upperCount = 2 ** 30

/**
 * Counts the endpoints of a rollout, each once. The condition rejects most rows, so that aggregates are computed for few rows. `applied` is
 * counted with an index. No version is upgradable from itself, so an endpoint that has applied the version never has it as its target.
 */
export async function countRollout(
  sql: Sql,
  application: ApplicationKey,
  targets: TargetPlan,
  number: number,
): Promise<Counts> {
  const resumedAt = targets.plan.byNumber.get(number)?.resumedAt
  const hasFailed = sql`failed = ${number}
    ${resumedAt === undefined ? sql`` : sql`and (reported_date < ${new Date(resumedAt)}) is not true`}`
  const upper = sql.unsafe(String(upperCount)) as Fragment
  const [row] = await sql<Counts[]>`
    select applied, reported % ${upper} as offered, reported / ${upper} as failed,
      counted - reported % ${upper} - reported / ${upper} as waiting
    from (
      select (select count(*) from software.endpoints where ${ofApplication(sql, application)} and current = ${number}) as applied,
        count(*) as counted,
        coalesce(sum(case when offered = ${number} then 1 when ${hasFailed} then ${upper} end), 0) as reported
      from software.endpoints
      where ${ofApplication(sql, application)} and (${hasTarget(sql, targets, number)}
        or (offered = ${number} or ${hasFailed}) and current is distinct from ${number})) counts`
  return row!
}

/** Counts the endpoints that have this target, by their current version. */
export async function countTargets(
  sql: Sql,
  application: ApplicationKey,
  targets: TargetPlan,
  number: number,
): Promise<{ current: number; count: number }[]> {
  return await sql<{ current: number; count: number }[]>`
    select current, count(*) from software.endpoints
    where ${ofApplication(sql, application)} and ${hasTarget(sql, targets, number)} group by current`
}

/** Finds some endpoints with this target, ordered by id. */
export async function findTargets(
  sql: Sql,
  application: ApplicationKey,
  targets: TargetPlan,
  number: number,
  limit: number,
) {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from software.endpoints
    where ${ofApplication(sql, application)} and ${hasTarget(sql, targets, number)} order by endpoint_id limit ${limit}`
  return rows.map(({ endpointId }) => endpointId)
}

export interface EndpointSelection {
  endpointIds?: string[] | undefined
  /** Number of the current version. */
  current?: number | undefined
  target?: number | undefined
  /** The version that failed, unless its rollout was resumed since. */
  failure?: number | undefined
  state?: string | undefined
}

export interface EndpointRow {
  endpointId: string
  current: number | null
  target: number | null
  failure: number | null
  offered: number | null
  offeredDate: Date | null
  statusCode: number | null
  reasonPhrase: string | null
  updatedDate: Date
  state: string
}

const isSelected = (sql: Sql, query: EndpointSelection) => sql`true
  ${query.endpointIds ? sql`and endpoint_id = any(${query.endpointIds}::text[])` : sql``}
  ${query.current === undefined ? sql`` : sql`and current = ${query.current}`}
  ${query.target === undefined ? sql`` : sql`and target = ${query.target}`}
  ${query.failure === undefined ? sql`` : sql`and failure = ${query.failure}`}
  ${query.state === undefined ? sql`` : sql`and state = ${query.state}`}`

export async function countEndpoints(
  sql: Sql,
  application: ApplicationKey,
  targets: TargetPlan,
  query: EndpointSelection,
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) from (${withTargets(sql, application, targets)}) e where ${isSelected(sql, query)}`
  return row!.count
}

/** Finds a page of endpoints ordered by id, after `after` or from `offset`. */
export async function findEndpoints(
  sql: Sql,
  application: ApplicationKey,
  targets: TargetPlan,
  query: EndpointSelection & { after?: string; offset?: number; limit: number },
): Promise<EndpointRow[]> {
  return await sql<EndpointRow[]>`
    select endpoint_id, current, target, failure, offered, offered_date, status_code, reason_phrase, updated_date, state
    from (${withTargets(sql, application, targets)}) e
    where ${isSelected(sql, query)} ${query.after === undefined ? sql`` : sql`and endpoint_id > ${query.after}`}
    order by endpoint_id offset ${query.offset ?? 0} limit ${query.limit}`
}
