/** What lists need to know of filters; the filters themselves are built on top of the endpoints. */
import type { Sql } from '../../kernel/db.ts'
import type { FilterRef } from './contract.ts'
import type { Fragment } from './store/fragment.ts'

export type KnownFilter = FilterRef

export interface FilterIndex {
  /** Those of the tenant's filters that have one of these ids. */
  find(sql: Sql, tenantId: string, filterIds: string[]): Promise<KnownFilter[]>
  /** A select of one column, `seq`: the endpoints that match all of these filters. */
  members(sql: Sql, tenantId: string, filterIds: string[]): Fragment
  /** The same, in the order of lists, after one number, some of them passed over. */
  page(sql: Sql, tenantId: string, filterIds: string[], of: { after: number; offset: number; limit: number }): Fragment
  /** For each endpoint the ids of the active filters that it matches. */
  idsOf(sql: Sql, endpointIds: string[]): Promise<Map<string, string[]>>
}
