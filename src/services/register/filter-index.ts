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
  /** For each endpoint the ids of the active filters that it matches. */
  idsOf(sql: Sql, endpointIds: string[]): Promise<Map<string, string[]>>
}
