/** What lists need to know of filters; the filters themselves are built on top of the endpoints. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { FilterRef } from '../contract.ts'

export type KnownFilter = FilterRef

export interface FilterIndex {
  /** Those of the tenant's filters that have one of these ids. */
  find(sql: Sql, tenantId: string, filterIds: string[]): Promise<KnownFilter[]>
  /** A select of one column, `seq`: the endpoints that match all of these filters. */
  members(sql: Sql, tenantId: string, filterIds: string[]): Fragment
  /**
   * Which of some endpoints they match; `members`: how many the first filter has. Of few, a condition on
   * `register.endpoints e`, by which they are found before all else; else the rows of `candidates` that are among them. What
   * the planner knows of sets is old, and nothing of a new one: it must not choose.
   */
  among(
    sql: Sql,
    tenantId: string,
    filterIds: string[],
    members: number,
  ): { condition: Fragment } | { of(candidates: Fragment): Fragment }
  /** The members in the order of lists, after one number, some of them passed over. */
  page(sql: Sql, tenantId: string, filterIds: string[], of: { after: number; offset: number; limit: number }): Fragment
  /** A select of `seq` and `filter_ids`: for each of these endpoints, the active filters that it matches as a JSON array. */
  idsBySeq(sql: Sql, seqs: Fragment): Fragment
  /** The active filters that an endpoint matches. */
  idsOf(sql: Sql, endpointId: string): Promise<string[]>
}
