import { isUniqueViolation, likePart, type Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export interface AssetTypeRow {
  assetTypeId: string
  tenantId: string
  type: string
  displayName: string
  description: string | null
  definitionJsonSchema: string
  uiJsonSchema: string | null
  poolIds: string[] | null
  createdDate: Date
  updatedDate: Date
  revision: number
}

export interface AssetTypeSelection {
  tenantId: string
  assetTypeIds: 'all' | string[]
  type?: string | undefined
  description?: string | undefined
}

export interface Order {
  by: 'createdAt' | 'updatedAt'
  descending: boolean
}

/** Inserts an asset type. Returns false if the tenant already has this type. */
export async function insertType(sql: Sql, row: AssetTypeRow): Promise<boolean> {
  const { count } = await sql`
    insert into assets.asset_types ${sql({ ...row })} on conflict on constraint asset_type_type do nothing`
  return count === 1
}

/** Counts the types that begin with this text, to number types with the same display name. */
export async function countTypesLike(sql: Sql, tenantId: string, prefix: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from assets.asset_types
    where tenant_id = ${tenantId} and starts_with(type, ${prefix})`
  return row!.count
}

export async function findType(sql: Sql, assetTypeId: string): Promise<AssetTypeRow | undefined> {
  const [row] = await sql<AssetTypeRow[]>`select * from assets.asset_types where asset_type_id = ${assetTypeId}`
  return row
}

export async function lockType(sql: Sql, assetTypeId: string): Promise<AssetTypeRow | undefined> {
  const [row] = await sql<AssetTypeRow[]>`
    select * from assets.asset_types where asset_type_id = ${assetTypeId} for update`
  return row
}

/** Updates an asset type. Returns false if another asset type of the tenant has the new type name. */
export async function updateType(sql: Sql, row: AssetTypeRow): Promise<boolean> {
  const { assetTypeId, tenantId: _, createdDate: __, ...changed } = row
  try {
    await sql`update assets.asset_types set ${sql(changed)} where asset_type_id = ${assetTypeId}`
    return true
  } catch (error) {
    if (isUniqueViolation(error, 'asset_type_type')) return false
    throw error
  }
}

export async function hasAssets(sql: Sql, assetTypeId: string): Promise<boolean> {
  const [row] = await sql`select 1 from assets.assets where asset_type_id = ${assetTypeId} limit 1`
  return row !== undefined
}

export async function deleteType(sql: Sql, assetTypeId: string) {
  await sql`delete from assets.asset_types where asset_type_id = ${assetTypeId}`
}

const selected = (sql: Sql, { tenantId, assetTypeIds, type, description }: AssetTypeSelection) => sql`
  tenant_id = ${tenantId}
  ${assetTypeIds === 'all' ? sql`` : sql`and asset_type_id = any(${assetTypeIds}::text[])`}
  ${type === undefined ? sql`` : sql`and type ilike ${likePart(type)}`}
  ${description === undefined ? sql`` : sql`and description ilike ${likePart(description)}`}`

export async function countTypes(sql: Sql, selection: AssetTypeSelection): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from assets.asset_types where ${selected(sql, selection)}`
  return row!.count
}

const ordered = (sql: Sql, { by, descending }: Order, { offset, limit }: Window) => sql`
  order by ${by === 'createdAt' ? sql`created_date` : sql`updated_date`} ${descending ? sql`desc` : sql`asc`}, asset_type_id
  offset ${offset} limit ${limit}`

export async function findTypes(
  sql: Sql,
  selection: AssetTypeSelection,
  order: Order,
  window: Window,
): Promise<AssetTypeRow[]> {
  return await sql<AssetTypeRow[]>`
    select * from assets.asset_types where ${selected(sql, selection)} ${ordered(sql, order, window)}`
}

export async function findTypeIds(
  sql: Sql,
  selection: AssetTypeSelection,
  order: Order,
  window: Window,
): Promise<string[]> {
  const rows = await sql<{ assetTypeId: string }[]>`
    select asset_type_id from assets.asset_types where ${selected(sql, selection)} ${ordered(sql, order, window)}`
  return rows.map(({ assetTypeId }) => assetTypeId)
}

/** Finds asset types in the order of the given ids. */
export async function findTypesById(sql: Sql, assetTypeIds: string[]): Promise<AssetTypeRow[]> {
  return await sql<AssetTypeRow[]>`
    select t.* from unnest(${assetTypeIds}::text[]) with ordinality as given(asset_type_id, position)
    join assets.asset_types t using (asset_type_id) order by given.position`
}
