/** SQL of relations between assets and endpoints, and of relations that have ended. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { Containment } from '../../register/contract.ts'

export type EntityType = 'ASSET' | 'ENDPOINT'
export type RelationType = 'CONTAINS' | 'MANAGES'

export interface RelationRow {
  type: RelationType
  fromType: EntityType
  fromId: string
  toType: EntityType
  toId: string
}

const relationRows = (sql: Sql, rows: RelationRow[]) => sql`
  unnest(${rows.map(({ type }) => type)}::text[], ${rows.map(({ fromType }) => fromType)}::text[],
    ${rows.map(({ fromId }) => fromId)}::text[], ${rows.map(({ toType }) => toType)}::text[],
    ${rows.map(({ toId }) => toId)}::text[]) as g(type, from_type, from_id, to_type, to_id)`

/** Inserts relations. Returns the relations that did not exist before. */
export async function insertRelations(
  sql: Sql,
  tenantId: string,
  rows: RelationRow[],
  at: Date,
): Promise<RelationRow[]> {
  return await sql<RelationRow[]>`
    insert into assets.relations (tenant_id, from_type, from_id, to_type, to_id, type, created_date)
    select ${tenantId}, from_type, from_id, to_type, to_id, type, ${at} from ${relationRows(sql, rows)}
    on conflict do nothing returning type, from_type, from_id, to_type, to_id`
}

/** Adds the rows of `deleted` to the ended relations. The end is never before the start, even if the clocks of nodes differ. */
const keepEnded = (sql: Sql, at: Date) => sql`
  insert into assets.ended_relations (tenant_id, from_type, from_id, to_type, to_id, type, created_date, ended_date)
  select tenant_id, from_type, from_id, to_type, to_id, type, created_date, greatest(created_date, ${at}::timestamptz)
  from deleted`

/** Ends relations. Returns the relations that existed. */
export async function deleteRelations(
  sql: Sql,
  tenantId: string,
  rows: RelationRow[],
  at: Date,
): Promise<RelationRow[]> {
  return await sql<RelationRow[]>`
    with deleted as (
      delete from assets.relations r using ${relationRows(sql, rows)}
      where r.tenant_id = ${tenantId} and r.from_type = g.from_type and r.from_id = g.from_id
        and r.to_type = g.to_type and r.to_id = g.to_id and r.type = g.type
      returning r.*),
    ended as (${keepEnded(sql, at)})
    select type, from_type, from_id, to_type, to_id from deleted`
}

export interface EndOfEntities {
  tenantId: string
  entityType: EntityType
  entityIds: string[]
  endedDate: Date
  /** Only relations that were created at or before this time are ended. */
  createdUntil?: Date
}

/** Ends all relations of entities that were deleted. */
export async function endRelationsOf(sql: Sql, entities: EndOfEntities) {
  const { tenantId, entityType, entityIds, endedDate, createdUntil } = entities
  await sql`
    with deleted as (
      delete from assets.relations
      where tenant_id = ${tenantId}
        and ((from_type = ${entityType} and from_id = any(${entityIds}::text[]))
          or (to_type = ${entityType} and to_id = any(${entityIds}::text[])))
        ${createdUntil === undefined ? sql`` : sql`and created_date <= ${createdUntil}`}
      returning *)
    ${keepEnded(sql, endedDate)}`
}

const assetPrefix = 'asset/'

/** Returns the key of an entity for the register's check for cycles. Endpoint ids contain no `/`, so keys are unambiguous. */
export const containmentKey = (type: EntityType, id: string) => (type === 'ASSET' ? `${assetPrefix}${id}` : id)

/** Finds the relations by which other assets or endpoints directly contain these entities. */
export async function findContainers(
  sql: Sql,
  tenantId: string,
  keys: string[],
  limit: number,
): Promise<Containment[]> {
  const assetIds = keys.filter((key) => key.startsWith(assetPrefix)).map((key) => key.slice(assetPrefix.length))
  const endpointIds = keys.filter((key) => !key.startsWith(assetPrefix))
  const rows = await sql<Omit<RelationRow, 'type'>[]>`
    select from_type, from_id, to_type, to_id from assets.relations
    where tenant_id = ${tenantId} and type = 'CONTAINS'
      and ((to_type = 'ASSET' and to_id = any(${assetIds}::text[]))
        or (to_type = 'ENDPOINT' and to_id = any(${endpointIds}::text[])))
    limit ${limit}`
  return rows.map(({ fromType, fromId, toType, toId }) => ({
    from: containmentKey(fromType, fromId),
    to: containmentKey(toType, toId),
  }))
}

/** The relations of the register, as parts of an SQL statement (`register/contract.ts`). */
export interface RegisterRelations {
  current(sql: Sql): Fragment
  ended(sql: Sql): Fragment
  endpoints(sql: Sql): Fragment
}
