/** Reads one level of a relation tree. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { EntityType, RegisterRelations, RelationType } from './relations.ts'
import { isVisibleAsset, isVisibleEndpoint, type Visibility } from './visibility.ts'

export interface TreeEdge {
  /** Index of the parent in the list of requested parents. */
  parent: number
  relationType: RelationType
  entityType: EntityType
  entityId: string
  name: string | null
}

export interface Parent {
  entityType: EntityType
  entityId: string
}

interface Level {
  tenantId: string
  parents: Parent[]
  visibility: Visibility
  limit: number
}

/** Finds the children of the requested parents that the caller may read, in the order of the parents. */
export async function findChildren(sql: Sql, register: RegisterRelations, level: Level): Promise<TreeEdge[]> {
  const arms = [
    ...(['ASSET', 'ENDPOINT'] as const)
      .filter((type) => level.parents.some(({ entityType }) => entityType === type))
      .map((type) => childrenOf(sql, register, level, type)),
    ...(level.parents.some(({ entityType }) => entityType === 'ENDPOINT') ? [endpointsOf(sql, register, level)] : []),
  ]
  const all = arms.reduce((left, right) => sql`${left} union all ${right}`)
  return await sql<TreeEdge[]>`
    ${all} order by parent, entity_type, entity_id, relation_type limit ${level.limit}`
}

const parentsOf = (sql: Sql, { parents }: Level, type: EntityType) => {
  const positions = parents.flatMap(({ entityType }, index) => (entityType === type ? [index] : []))
  return sql`unnest(${positions.map((index) => parents[index]!.entityId)}::text[], ${positions.map(String)}::text[]::int[])
    as g(id, parent)`
}

/**
 * Returns a limit, so that a parent with a million children is not read completely. If some children may be hidden from the caller, all
 * children are read, because hidden children are removed later.
 */
const limited = (sql: Sql, { visibility: { assetIds, endpoints }, limit }: Level) =>
  assetIds === 'all' && endpoints === 'all' ? sql`limit ${limit}` : sql`offset 0`

/**
 * Selects the endpoint of a relation `r` if the caller may see it. `offset 0` makes PostgreSQL look up each endpoint by its key; without
 * statistics it would join the whole tables. The same holds for assets in `childrenOf`.
 */
const visibleEndpoint = (
  sql: Sql,
  register: RegisterRelations,
  { tenantId, visibility }: Level,
  condition: Fragment,
) => sql`
  select e.name, true as found from (${register.endpoints(sql)}) as e
  where ${condition} and e.endpoint_id = r.to_id and e.tenant_id = ${tenantId} and ${isVisibleEndpoint(sql, visibility)} offset 0`

/** Selects children by the relations that this service stores. */
const childrenOf = (sql: Sql, register: RegisterRelations, level: Level, type: EntityType) => sql`
  select g.parent, r.type as relation_type, r.to_type as entity_type, r.to_id as entity_id, coalesce(a.name, e.name) as name
  from ${parentsOf(sql, level, type)}
  cross join lateral (
    select type, to_type, to_id from assets.relations
    where tenant_id = ${level.tenantId} and from_type = ${type} and from_id = g.id
    order by to_type, to_id, type ${limited(sql, level)}) as r
  left join lateral (
    select a.name, true as found from assets.assets a
    where r.to_type = 'ASSET' and a.asset_id = r.to_id and ${isVisibleAsset(sql, sql`r.to_id`, level.visibility)}
    offset 0) as a on true
  left join lateral (${visibleEndpoint(sql, register, level, sql`r.to_type = 'ENDPOINT'`)}) as e on true
  where a.found or e.found`

/** Selects children by the relations between endpoints that the register stores. */
const endpointsOf = (sql: Sql, register: RegisterRelations, level: Level) => sql`
  select g.parent, 'CONTAINS', 'ENDPOINT', r.to_id, e.name
  from ${parentsOf(sql, level, 'ENDPOINT')}
  cross join lateral (
    select c.to_id from (${register.current(sql)}) as c where c.from_id = g.id and c.tenant_id = ${level.tenantId}
    order by c.to_id ${limited(sql, level)}) as r
  cross join lateral (${visibleEndpoint(sql, register, level, sql`true`)}) as e`

/** Returns the name of an entity; null for an entity without a name. */
export async function findName(
  sql: Sql,
  register: RegisterRelations,
  { entityType, entityId }: Parent,
): Promise<string | null> {
  const [row] =
    entityType === 'ASSET'
      ? await sql<{ name: string | null }[]>`select name from assets.assets where asset_id = ${entityId}`
      : await sql<{ name: string | null }[]>`
          select e.name from (${register.endpoints(sql)}) as e where e.endpoint_id = ${entityId}`
  return row?.name ?? null
}
