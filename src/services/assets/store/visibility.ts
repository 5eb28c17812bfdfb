/** Returns SQL conditions that exclude entities that the caller may not read. */
import type { Fragment, Sql } from '../../../kernel/db.ts'

export interface Visibility {
  assetIds: 'all' | string[]
  endpoints: 'all' | { applicationNames: string[]; endpointIds: string[] }
}

/** Returns a condition on the column of an asset's id. */
export const isVisibleAsset = (sql: Sql, column: Fragment, { assetIds }: Visibility): Fragment =>
  assetIds === 'all' ? sql`true` : sql`${column} = any(${assetIds}::text[])`

/** Returns a condition on `e`, a row of the register's endpoints. */
export const isVisibleEndpoint = (sql: Sql, { endpoints }: Visibility): Fragment =>
  endpoints === 'all'
    ? sql`true`
    : sql`(e.application_name = any(${endpoints.applicationNames}::text[])
        or e.endpoint_id = any(${endpoints.endpointIds}::text[]))`
