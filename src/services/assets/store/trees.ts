/** One level of a tree of relations. */
import type { Sql } from '../../../kernel/db.ts'
import type { EntityType, RegisterRelations, RelationType } from './relations.ts'
import { isVisibleAsset, isVisibleEndpoint, type Visibility } from './visibility.ts'

export interface TreeEdge {
  /** Index of the parent in the list of the request. */
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

/** Finds the readable children of these entities, in the order of their parents. */
export async function findChildren(
  sql: Sql,
  register: RegisterRelations,
  { tenantId, parents, visibility, limit }: Level,
): Promise<TreeEdge[]> {
  const parentsOf = (type: EntityType) => {
    const positions = parents.flatMap(({ entityType }, index) => (entityType === type ? [index] : []))
    return sql`unnest(${positions.map((index) => parents[index]!.entityId)}::text[], ${positions.map(String)}::text[]::int[])
      as g(id, parent)`
  }
  const arms = (['ASSET', 'ENDPOINT'] as const)
    .filter((type) => parents.some(({ entityType }) => entityType === type))
    .flatMap((type) => [
      sql`
        select g.parent, r.type as relation_type, r.to_type as entity_type, r.to_id as entity_id, a.name
        from ${parentsOf(type)} join assets.relations r
          on r.tenant_id = ${tenantId} and r.from_type = ${type} and r.from_id = g.id and r.to_type = 'ASSET'
        join assets.assets a on a.asset_id = r.to_id
        where ${isVisibleAsset(sql, sql`r.to_id`, visibility)}`,
      sql`
        select g.parent, r.type, r.to_type, r.to_id, e.name
        from ${parentsOf(type)} join assets.relations r
          on r.tenant_id = ${tenantId} and r.from_type = ${type} and r.from_id = g.id and r.to_type = 'ENDPOINT'
        join (${register.endpoints(sql)}) as e on e.endpoint_id = r.to_id and e.tenant_id = ${tenantId}
        where ${isVisibleEndpoint(sql, visibility)}`,
      ...(type === 'ENDPOINT'
        ? [
            sql`
              select g.parent, 'CONTAINS', 'ENDPOINT', r.to_id, e.name
              from ${parentsOf(type)} join (${register.current(sql)}) as r on r.from_id = g.id and r.tenant_id = ${tenantId}
              join (${register.endpoints(sql)}) as e on e.endpoint_id = r.to_id and e.tenant_id = ${tenantId}
              where ${isVisibleEndpoint(sql, visibility)}`,
          ]
        : []),
    ])
  const all = arms.reduce((left, right) => sql`${left} union all ${right}`)
  return await sql<TreeEdge[]>`${all} order by parent, relation_type, entity_type, entity_id limit ${limit}`
}

/** Returns the name of an entity; null if it has none. */
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
