import { likePart, type Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { Order } from './types.ts'

export interface AssetRow {
  assetId: string
  tenantId: string
  assetTypeId: string
  definition: string
  uiJsonSchema: string | null
  poolIds: string[] | null
  createdDate: Date
  updatedDate: Date
  revision: number
}

/** An asset with the schema to which its next definition must conform. */
export interface AssetWithSchema extends AssetRow {
  definitionJsonSchema: string
  typeRevision: number
}

/** Fields that are derived from the definition. */
export interface Derived {
  name: string | null
  searchText: string
}

export interface AssetSelection {
  tenantId: string
  /** Assets that the caller may read. */
  visibleIds: 'all' | string[]
  assetIds?: string[] | undefined
  assetTypeIds?: string[] | undefined
  /** The searched text in lower case, as in `search_text`. */
  search?: string | undefined
}

const columns = (sql: Sql) => sql`
  a.asset_id, a.tenant_id, a.asset_type_id, a.definition, a.ui_json_schema, a.pool_ids, a.created_date, a.updated_date, a.revision`

/** Locks the type, and selects a row if the type still has this revision. */
const unchangedType = (sql: Sql, assetTypeId: string, revision: number) => sql`
  select 1 from assets.asset_types where asset_type_id = ${assetTypeId} and revision = ${revision} for share`

/** Inserts an asset. Returns false if the type was changed or deleted since its schema was read. */
export async function insertAsset(sql: Sql, row: AssetRow & Derived, typeRevision: number): Promise<boolean> {
  const { count } = await sql`
    with unchanged as (${unchangedType(sql, row.assetTypeId, typeRevision)})
    insert into assets.assets (asset_id, tenant_id, asset_type_id, definition, ui_json_schema, pool_ids, name, search_text,
      created_date, updated_date, revision)
    select ${row.assetId}, ${row.tenantId}, ${row.assetTypeId}, ${row.definition}, ${row.uiJsonSchema}::text,
      ${row.poolIds}::text[], ${row.name}::text, ${row.searchText}, ${row.createdDate}::timestamptz,
      ${row.updatedDate}::timestamptz, ${row.revision}::bigint
    from unchanged`
  return count === 1
}

/** Updates an asset. Returns false if the asset or its type was changed since the asset was read. */
export async function updateAsset(
  sql: Sql,
  read: AssetWithSchema,
  change: Pick<AssetRow, 'definition' | 'uiJsonSchema' | 'poolIds' | 'updatedDate'> & Derived,
): Promise<boolean> {
  const { count } = await sql`
    with unchanged as (${unchangedType(sql, read.assetTypeId, read.typeRevision)})
    update assets.assets set ${sql({ ...change, revision: read.revision + 1 })}
    where asset_id = ${read.assetId} and revision = ${read.revision} and exists (select 1 from unchanged)`
  return count === 1
}

export async function findAsset(sql: Sql, assetId: string): Promise<AssetRow | undefined> {
  const [row] = await sql<AssetRow[]>`select ${columns(sql)} from assets.assets a where a.asset_id = ${assetId}`
  return row
}

export async function findAssetWithSchema(sql: Sql, assetId: string): Promise<AssetWithSchema | undefined> {
  const [row] = await sql<AssetWithSchema[]>`
    select ${columns(sql)}, t.definition_json_schema, t.revision as type_revision
    from assets.assets a join assets.asset_types t using (asset_type_id) where a.asset_id = ${assetId}`
  return row
}

export async function lockAsset(sql: Sql, assetId: string): Promise<AssetRow | undefined> {
  const [row] = await sql<AssetRow[]>`
    select ${columns(sql)} from assets.assets a where a.asset_id = ${assetId} for update`
  return row
}

export async function deleteAsset(sql: Sql, assetId: string) {
  await sql`delete from assets.assets where asset_id = ${assetId}`
}

export interface AssetRef {
  assetId: string
  tenantId: string
}

export async function findAssetRefs(sql: Sql, assetIds: string[]): Promise<AssetRef[]> {
  return await sql<AssetRef[]>`
    select asset_id, tenant_id from assets.assets where asset_id = any(${assetIds}::text[])`
}

/** Finds assets and blocks their deletion until the transaction ends. The lock is shared. */
export async function lockAssetRefs(sql: Sql, assetIds: string[]): Promise<AssetRef[]> {
  return await sql<AssetRef[]>`
    select asset_id, tenant_id from assets.assets where asset_id = any(${assetIds}::text[])
    order by asset_id for key share`
}

const selected = (sql: Sql, { tenantId, visibleIds, assetIds, assetTypeIds, search }: AssetSelection) => sql`
  a.tenant_id = ${tenantId}
  ${visibleIds === 'all' ? sql`` : sql`and a.asset_id = any(${visibleIds}::text[])`}
  ${assetIds === undefined ? sql`` : sql`and a.asset_id = any(${assetIds}::text[])`}
  ${assetTypeIds === undefined ? sql`` : sql`and a.asset_type_id = any(${assetTypeIds}::text[])`}
  ${search === undefined ? sql`` : sql`and a.search_text like ${likePart(search)}`}`

export async function countAssets(sql: Sql, selection: AssetSelection): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from assets.assets a where ${selected(sql, selection)}`
  return row!.count
}

const ordered = (sql: Sql, { by, descending }: Order, { offset, limit }: Window) => sql`
  order by ${by === 'createdAt' ? sql`a.created_date` : sql`a.updated_date`} ${descending ? sql`desc` : sql`asc`}, a.asset_id
  offset ${offset} limit ${limit}`

export async function findAssets(
  sql: Sql,
  selection: AssetSelection,
  order: Order,
  window: Window,
): Promise<AssetRow[]> {
  return await sql<AssetRow[]>`
    select ${columns(sql)} from assets.assets a where ${selected(sql, selection)} ${ordered(sql, order, window)}`
}

export async function findAssetIds(
  sql: Sql,
  selection: AssetSelection,
  order: Order,
  window: Window,
): Promise<string[]> {
  const rows = await sql<{ assetId: string }[]>`
    select a.asset_id from assets.assets a where ${selected(sql, selection)} ${ordered(sql, order, window)}`
  return rows.map(({ assetId }) => assetId)
}

/** Finds assets in the order of the given ids. */
export async function findAssetsById(sql: Sql, assetIds: string[]): Promise<AssetRow[]> {
  return await sql<AssetRow[]>`
    select ${columns(sql)} from unnest(${assetIds}::text[]) with ordinality as given(asset_id, position)
    join assets.assets a using (asset_id) order by given.position`
}
