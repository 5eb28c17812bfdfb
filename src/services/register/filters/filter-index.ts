/** The interface through which lists use filters, so that lists do not depend on the filters' implementation. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { FilterRef, Register } from '../contract.ts'

export type FilterSummary = FilterRef

export interface FilterIndex {
  /** Finds the tenant's filters with these ids. */
  find(sql: Sql, tenantId: string, filterIds: string[]): Promise<FilterSummary[]>
  /** Returns a select with the column `seq`: the numbers of the endpoints that match all these filters. */
  members(sql: Sql, tenantId: string, filterIds: string[]): Fragment
  /**
   * Restricts a query to endpoints that match all filters. `members` is the number of members of the first filter. If it is small, returns
   * a condition on `register.endpoints e` that reads the members first; otherwise a function that selects the members among `candidates`.
   * The planner must not choose between the two, because its statistics do not cover new sets.
   */
  among(
    sql: Sql,
    tenantId: string,
    filterIds: string[],
    members: number,
  ): { condition: Fragment } | { select(candidates: Fragment): Fragment }
  /** Returns the condition that the endpoint with this number matches the active filter. */
  contains(sql: Sql, tenantId: string, filterId: string, seq: Fragment): Fragment
  /** Returns a select of a page of the endpoints that match all these filters, in list order, with numbers greater than `after`. */
  page(
    sql: Sql,
    tenantId: string,
    filterIds: string[],
    page: { after: number; offset: number; limit: number },
  ): Fragment
  /** Returns a select of `seq` and `filter_ids`, a JSON array with the active filters that the endpoint matches. */
  idsBySeq(sql: Sql, seqs: Fragment): Fragment
  /** Returns the ids of the active filters that an endpoint matches. */
  idsOf(sql: Sql, endpointId: string): Promise<string[]>
  matchesOf: Register['matchesOf']
}
