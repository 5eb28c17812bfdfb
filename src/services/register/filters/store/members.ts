/** Stores the members of filters. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'
import { defaultKeys } from '../../configuration.ts'
import type { EndpointRef, MemberPage } from '../../contract.ts'
import { keysOf } from '../../document-query/keys.ts'
import type { Query } from '../../document-query/query.ts'
import { toSql } from '../../document-query/sql.ts'
import type { FilterIndex, FilterSummary } from '../filter-index.ts'
import { type ApplicationKey, memberCountSql } from './filters.ts'

/** If a filter has at most this many members, a list reads them first and then applies its other conditions (about 3 µs per member). */
const membersReadFirst = 20_000
/** Looking up one number in a set takes as long as reading this many members in sequence. */
const membersPerLookup = 6

const setOf = (sql: Sql, tenantId: string, filterId: string): Fragment => sql`(
  select f.member_set from register.filters f
  where f.tenant_id = ${tenantId} and f.filter_id = ${filterId} and f.status = 'active')`

/** Returns an array of the member sets of filters. For a deleted filter the array contains null, which matches nothing. */
const setsOf = (sql: Sql, tenantId: string, filterIds: string[]): Fragment => sql`array(
  select f.member_set from unnest(${filterIds}::text[]) with ordinality as given(filter_id, position)
    left join register.filters f on f.tenant_id = ${tenantId} and f.filter_id = given.filter_id and f.status = 'active'
  order by given.position)`

const isMember = (sql: Sql, tenantId: string, filterId: string, seq: Fragment): Fragment => sql`(
  select true from register.filter_members one
  where one.tenant_id = ${tenantId} and one.member_set = ${setOf(sql, tenantId, filterId)} and one.seq = ${seq})`

export const filterIndex: FilterIndex = {
  async find(sql, tenantId, filterIds) {
    return await sql<FilterSummary[]>`
      select f.filter_id, f.application_name, f.status, ${memberCountSql(sql)} from register.filters f
      where f.tenant_id = ${tenantId} and f.filter_id = any(${filterIds}::text[])`
  },

  members: (sql, tenantId, filterIds) => sql`
    select number as seq from register.members_of(${tenantId}, ${setsOf(sql, tenantId, filterIds)})`,

  among(sql, tenantId, filterIds, members) {
    if (members <= membersReadFirst) {
      const wholeSet = { after: -1, offset: 0, limit: Number.MAX_SAFE_INTEGER }
      return { condition: sql`e.seq = any(array(${filterIndex.page(sql, tenantId, filterIds, wholeSet)}))` }
    }
    const sets = filterIds.map((filterId) => isMember(sql, tenantId, filterId, sql`c.seq`))
    const isMemberOfAll = sets.reduce((before, one) => sql`${before} and ${one}`)
    const lookupsMax = Math.floor(members / membersPerLookup)
    return {
      select: (candidates) => sql`
        select c.* from ${candidates} c where not exists (select from ${candidates} offset ${lookupsMax}) and ${isMemberOfAll}
        union all
        select c.* from ${candidates} c
          join register.members_of(${tenantId}, ${setsOf(sql, tenantId, filterIds)}) m on m.number = c.seq
        where exists (select from ${candidates} offset ${lookupsMax})`,
    }
  },

  contains: (sql, tenantId, filterId, seq) => sql`exists ${isMember(sql, tenantId, filterId, seq)}`,

  page: (sql, tenantId, filterIds, { after, offset, limit }) => sql`
    select number as seq from register.members_page(${tenantId}, ${setsOf(sql, tenantId, filterIds)},
      ${after}, ${offset}, ${limit})`,

  idsBySeq: (sql, seqs) => sql`
    select m.seq, json_agg(f.filter_id order by f.seq)::text as filter_ids
    from register.filter_members m join register.filters f on f.tenant_id = m.tenant_id and f.member_set = m.member_set
    where m.seq = any(array(${seqs})) and f.status = 'active' group by m.seq`,

  async idsOf(sql, endpointId) {
    const seqs = sql`select seq from register.endpoints where endpoint_id = ${endpointId}`
    const [row] = await sql<{ filterIds: string[] }[]>`
      select filter_ids::json from (${filterIndex.idsBySeq(sql, seqs)}) matching`
    return row?.filterIds ?? []
  },

  async matchesOf(sql, { tenantId, endpointIds, filterIds }) {
    if (endpointIds.length === 0 || filterIds.length === 0) return new Map()
    // There are only few sets, so each endpoint is looked up in each set by the primary key.
    const rows = await sql<{ endpointId: string; filterIds: string[] }[]>`
      with sets as materialized (
        select filter_id, member_set from register.filters
        where tenant_id = ${tenantId} and filter_id = any(${filterIds}::text[]) and status = 'active')
      select e.endpoint_id, array_agg(s.filter_id order by s.filter_id) as filter_ids
      from register.endpoints e cross join sets s
        join register.filter_members m on m.tenant_id = ${tenantId} and m.member_set = s.member_set and m.seq = e.seq
      where e.tenant_id = ${tenantId} and e.endpoint_id = any(${endpointIds}::text[]) group by e.endpoint_id`
    return new Map(rows.map((row) => [row.endpointId, row.filterIds]))
  },
}

/** Returns a relation with a page of members in list order. The set must belong to an active filter. */
export const memberPage = (sql: Sql, { tenantId, memberSet, after, limit }: MemberPage): Fragment => sql`(
  select e.endpoint_id, e.tenant_id, e.application_name, e.version_name, e.seq from register.endpoints e
  where e.tenant_id = ${tenantId} and e.seq = any(array(
    select number from register.members_page(${tenantId}, array[${memberSet}]::bigint[], ${after}, 0, ${limit})))
  order by e.seq)`

export async function findMembersOfSet(sql: Sql, page: MemberPage): Promise<(EndpointRef & { seq: number })[]> {
  return await sql<(EndpointRef & { seq: number })[]>`select * from ${memberPage(sql, page)} as page`
}

export interface Transition {
  memberSet: number
  /** True while the set is still being filled. */
  pending: boolean
  seq: number
  matched: boolean
}

/**
 * Saves which filters the changed endpoints begin and cease to match, and updates the counts. The rows are sorted, to prevent deadlocks.
 */
export async function saveTransitions(sql: Sql, tenantId: string, transitions: Transition[]) {
  const column = <K extends keyof Transition>(name: K) => transitions.map((move) => String(move[name]))
  await sql`
    with given as (
      select * from unnest(${column('memberSet')}::text[]::bigint[], ${column('seq')}::text[]::bigint[],
        ${column('matched')}::text[]::boolean[], ${column('pending')}::text[]::boolean[])
        as g(member_set, seq, matched, pending)),
    deleted as (
      delete from register.filter_members m using given g
      where m.tenant_id = ${tenantId} and m.member_set = g.member_set and m.seq = g.seq
        and not g.matched and not g.pending
      returning m.member_set),
    written as (
      insert into register.filter_members as m (tenant_id, member_set, seq, matched)
      select ${tenantId}, member_set, seq, matched from given where matched or pending order by member_set, seq
      on conflict (tenant_id, member_set, seq) do update set matched = excluded.matched
        where m.matched <> excluded.matched
      returning m.member_set, m.matched, m.xmax = 0 as is_new)
    ${countChangesSql(sql, tenantId, sql`select member_set, -1 as n from deleted`)}`
}

/**
 * Inserts the differences of the counts: 1 for a row that matches now, -1 for an existing row that ceased to match, and 0 for a new row
 * that does not match.
 */
const countChangesSql = (sql: Sql, tenantId: string, gone: Fragment) => sql`
  insert into register.filter_count_differences (tenant_id, member_set, difference)
  select ${tenantId}, member_set, sum(n) from (
    ${gone}
    union all
    select member_set, case when matched then 1 when is_new then 0 else -1 end from written) moved
  group by member_set having sum(n) <> 0`

/**
 * Removes deleted endpoints from all sets. In pending sets, it marks them as not matching; in other sets, it deletes and returns their
 * rows.
 */
export async function removeEndpoints(
  sql: Sql,
  tenantId: string,
  { seqs, pendingSets }: { seqs: number[]; pendingSets: number[] },
): Promise<{ memberSet: number; seq: number }[]> {
  return await sql<{ memberSet: number; seq: number }[]>`
    with deleted as (
      delete from register.filter_members
      where seq = any(${seqs}::bigint[]) and member_set <> all(${pendingSets}::bigint[])
      returning member_set, seq),
    written as (
      insert into register.filter_members as m (tenant_id, member_set, seq, matched)
      select ${tenantId}, s.member_set, e.seq, false
      from unnest(${pendingSets}::bigint[]) as s(member_set), unnest(${seqs}::bigint[]) as e(seq)
      order by s.member_set, e.seq
      on conflict (tenant_id, member_set, seq) do update set matched = false where m.matched
      returning m.member_set, m.matched, m.xmax = 0 as is_new),
    counted as (${countChangesSql(sql, tenantId, sql`select member_set, -1 as n from deleted`)})
    select member_set, seq from deleted`
}

/** Finds the next `limit` endpoints of the application after `after`. Returns how many there are, and the `seq` of the last one. */
export async function findNext(
  sql: Sql,
  { tenantId, applicationName, after, limit }: ApplicationKey & { after: number; limit: number },
): Promise<{ last: number; count: number }> {
  const [row] = await sql<[{ last: number; count: number }]>`
    select coalesce(max(seq), 0) as last, count(*) from (
      select seq from register.endpoints
      where tenant_id = ${tenantId} and application_name = ${applicationName} and seq > ${after}
      order by seq limit ${limit}) next`
  return row
}

/**
 * Adds the matching endpoints with numbers above `after`, up to `until`, to a set. It locks no endpoints, because rows of concurrent
 * changes take precedence (README.md).
 */
export async function matchPart(
  sql: Sql,
  part: ApplicationKey & { memberSet: number; query: Query; after: number; until: number },
) {
  const keys = keysOf(part.query)
  const connectivity = keys === 'any' || defaultKeys.some((key) => keys.has(key))
  const metadata = connectivity
    ? sql`register.whole_metadata(metadata, connected, connectivity_ts) as metadata`
    : sql`metadata`
  // `offset 0` prevents the planner from reading all matches from the metadata index in every step.
  await sql`
    with added as (
      insert into register.filter_members (tenant_id, member_set, seq)
      select ${part.tenantId}, ${part.memberSet}, e.seq from (
        select seq, version_name, ${metadata} from register.endpoints
        where tenant_id = ${part.tenantId} and application_name = ${part.applicationName}
          and seq > ${part.after} and seq <= ${part.until} offset 0) e
      where ${toSql(sql, part.query, { metadata: 'e.metadata', versionName: 'e.version_name' })} order by e.seq
      on conflict do nothing returning 1)
    insert into register.filter_count_differences (tenant_id, member_set, difference)
    select ${part.tenantId}, ${part.memberSet}, count(*) from added having count(*) > 0`.unprepared()
}

/** Deletes the rows of endpoints that do not match. A set needs these rows only while it is pending. */
export async function deleteRefusals(sql: Sql, tenantId: string, memberSet: number) {
  await sql`
    delete from register.filter_members
    where tenant_id = ${tenantId} and member_set = ${memberSet} and not matched`
}

/** Marks a set as orphaned. */
export async function markOrphanedSet(sql: Sql, { tenantId, memberSet }: { tenantId: string; memberSet: number }) {
  await sql`insert into register.left_sets (tenant_id, member_set) values (${tenantId}, ${memberSet})`
}

/**
 * Deletes a part of an orphaned set. Returns false if no orphaned set is left or all are locked. Rows are deleted by `ctid`, because the
 * planner's statistics do not cover new sets.
 */
export async function deleteOrphanedMembers(sql: Sql, limit: number): Promise<boolean> {
  const [orphaned] = await sql`
    select tenant_id, member_set from register.left_sets order by member_set limit 1 for update skip locked`
  if (!orphaned) return false
  const { tenantId, memberSet } = orphaned
  const { count } = await sql`
    delete from register.filter_members where tenant_id = ${tenantId} and member_set = ${memberSet} and ctid = any(array(
      select ctid from register.filter_members where tenant_id = ${tenantId} and member_set = ${memberSet}
      limit ${limit}))`
  if (count < limit)
    await sql`delete from register.left_sets where tenant_id = ${tenantId} and member_set = ${memberSet}`
  return true
}

/** Deletes a part of a deleted tenant's filters and members. Returns false when no row is left. */
export async function deleteFiltersOfTenant(sql: Sql, tenantId: string, limit: number): Promise<boolean> {
  await sql`delete from register.filters where tenant_id = ${tenantId}`
  await sql`delete from register.filter_sets where tenant_id = ${tenantId}`
  await sql`delete from register.left_sets where tenant_id = ${tenantId}`
  const { count } = await sql`
    delete from register.filter_members where tenant_id = ${tenantId} and ctid = any(array(
      select ctid from register.filter_members where tenant_id = ${tenantId} limit ${limit}))`
  return count > 0
}
