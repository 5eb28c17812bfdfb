/**
 * Computes the targets of many endpoints in one scan of their rows. The rules of plan.ts become a small relation with one row for
 * each current version, joined by hash; a targeted version costs one operation on integers. Nothing is written.
 */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import { matchesOf, type Plan, targetRules } from '../plan.ts'
import type { Place } from './versions.ts'

export interface TargetPlan {
  plan: Plan
  at: number
}

const concatenated = (sql: Sql, fragments: Fragment[]) => fragments.reduce((before, one) => sql`${before}${one}`, sql``)

/** Rounds up to a power of two, so that few different statements are prepared. */
const roundUp = (count: number) => (count === 0 ? 0 : 2 ** Math.ceil(Math.log2(count)))

/**
 * Returns a relation with the columns of `software.endpoints` and `target`, `failure` (the failed version, unless its rollout was
 * resumed since) and `state` (document 5, 4.9).
 */
export function withTargets(sql: Sql, { tenantId, applicationName }: Place, { plan, at }: TargetPlan): Fragment {
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

/** Returns the columns of one slot for all rules: target, bits of the mask, other filters. */
function slotOf(sql: Sql, rules: ReturnType<typeof targetRules>, index: number) {
  const slots = rules.map(({ slots }) => slots[index])
  const matches = slots.map((slot) => matchesOf(slot?.bits ?? []))
  return {
    columns: sql`${slots.map((slot) => slot?.target ?? null)}::integer[], ${matches.map(({ mask }) => mask)}::bigint[],
      ${matches.map(({ more }) => `{${more?.join() ?? ''}}`)}::text[]`,
  }
}

export interface Counts {
  waiting: number
  offered: number
  applied: number
  failed: number
}

/** Counts the endpoints of a rollout. Each endpoint is counted once. */
export async function countRollout(sql: Sql, place: Place, targets: TargetPlan, number: number): Promise<Counts> {
  const [row] = await sql<Counts[]>`
    select count(*) filter (where kind = 'applied') as applied, count(*) filter (where kind = 'offered') as offered,
      count(*) filter (where kind = 'failed') as failed, count(*) filter (where kind = 'waiting') as waiting
    from (select case when current = ${number} then 'applied' when offered = ${number} then 'offered'
      when failure = ${number} then 'failed' when target = ${number} then 'waiting' end as kind
      from (${withTargets(sql, place, targets)}) e) kinds`
  return row!
}

/** Counts the endpoints that have this target, by their current version. */
export async function countTargets(
  sql: Sql,
  place: Place,
  targets: TargetPlan,
  number: number,
): Promise<{ current: number; count: number }[]> {
  return await sql<{ current: number; count: number }[]>`
    select current, count(*) from (${withTargets(sql, place, targets)}) e where target = ${number} group by current`
}

/** Finds some endpoints with this target, in the order of their ids. */
export async function findTargets(sql: Sql, place: Place, targets: TargetPlan, number: number, limit: number) {
  const rows = await sql<{ endpointId: string }[]>`
    select endpoint_id from (${withTargets(sql, place, targets)}) e where target = ${number} order by endpoint_id limit ${limit}`
  return rows.map(({ endpointId }) => endpointId)
}

export interface EndpointQuestion {
  endpointIds?: string[] | undefined
  /** Numbers of versions. */
  current?: number | undefined
  target?: number | undefined
  state?: string | undefined
}

export interface EndpointRow {
  endpointId: string
  current: number | null
  target: number | null
  offered: number | null
  offeredDate: Date | null
  statusCode: number | null
  reasonPhrase: string | null
  updatedDate: Date
  state: string
}

const asked = (sql: Sql, of: EndpointQuestion) => sql`true
  ${of.endpointIds ? sql`and endpoint_id = any(${of.endpointIds}::text[])` : sql``}
  ${of.current === undefined ? sql`` : sql`and current = ${of.current}`}
  ${of.target === undefined ? sql`` : sql`and target = ${of.target}`}
  ${of.state === undefined ? sql`` : sql`and state = ${of.state}`}`

export async function countEndpoints(
  sql: Sql,
  place: Place,
  targets: TargetPlan,
  of: EndpointQuestion,
): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) from (${withTargets(sql, place, targets)}) e where ${asked(sql, of)}`
  return row!.count
}

/** Finds a page of endpoints in the order of their ids, behind `after` or from `offset`. */
export async function findEndpoints(
  sql: Sql,
  place: Place,
  targets: TargetPlan,
  of: EndpointQuestion & { after?: string; offset?: number; limit: number },
): Promise<EndpointRow[]> {
  return await sql<EndpointRow[]>`
    select endpoint_id, current, target, offered, offered_date, status_code, reason_phrase, updated_date, state
    from (${withTargets(sql, place, targets)}) e
    where ${asked(sql, of)} ${of.after === undefined ? sql`` : sql`and endpoint_id > ${of.after}`}
    order by endpoint_id offset ${of.offset ?? 0} limit ${of.limit}`
}
