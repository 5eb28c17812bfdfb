/** Reads the relations of entities and their sessions. A session is a period in which a relation existed. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { Register } from '../../register/contract.ts'
import { NoEntity } from '../errors.ts'
import type { RelatedEntity } from '../events.ts'
import { findAssetRefs } from '../store/assets.ts'
import * as store from '../store/relation-lists.ts'
import type { EntityType, RelationType } from '../store/relations.ts'
import { mayReadAsset, mayReadEndpoint, visibilityOf } from './access.ts'

export type SeenRelationType = RelationType | 'IS_CONTAINED_BY' | 'IS_MANAGED_BY'

/** A relation from the perspective of the requested entity. */
export interface RelationView {
  ofEntityType: EntityType
  ofEntityId: string
  entityType: EntityType
  entityId: string
  relationType: SeenRelationType
}

export interface Session {
  type: RelationType
  from: RelatedEntity
  to: RelatedEntity
  startedAt: Date
  /** Absent while the relation exists. */
  endedAt?: Date
}

/** An entity that the caller may read. */
export interface FoundEntity extends RelatedEntity {
  tenantId: string
}

export interface RelationListOperations {
  /** Yields the relations of these assets and endpoints. Entities that the caller may not read are left out. */
  list(ctx: Ctx, entityIds: string[], entityType: EntityType | undefined): Promise<AsyncIterable<RelationView>>
  sessions(ctx: Ctx, entityId: string, entityType: EntityType | undefined): Promise<AsyncIterable<Session>>
}

export type ListDeps = Pick<Kit, 'db'> & { register: Pick<Register, 'findAll' | 'containments'> }

const pageMax = 1000
const sources: store.Source[] = ['assets', 'register']
const directions: store.Direction[] = ['outbound', 'inbound']

const inverse: Record<RelationType, SeenRelationType> = { CONTAINS: 'IS_CONTAINED_BY', MANAGES: 'IS_MANAGED_BY' }

/** Finds the entities with these ids that the caller may read. */
export async function findReadable(
  { db, register }: ListDeps,
  ctx: Ctx,
  entityIds: string[],
  entityType: EntityType | undefined,
): Promise<FoundEntity[]> {
  const assets = entityType === 'ENDPOINT' ? [] : await findAssetRefs(db.sql, entityIds)
  const endpoints = entityType === 'ASSET' ? [] : [...(await register.findAll(entityIds)).values()]
  return [
    ...assets
      .filter(({ tenantId, assetId }) => mayReadAsset(ctx, tenantId, assetId))
      .map(({ tenantId, assetId }) => ({ tenantId, entityType: 'ASSET' as const, entityId: assetId })),
    ...endpoints
      .filter((endpoint) => mayReadEndpoint(ctx, endpoint))
      .map(({ tenantId, endpointId }) => ({ tenantId, entityType: 'ENDPOINT' as const, entityId: endpointId })),
  ]
}

export function createRelationListOperations(deps: ListDeps): RelationListOperations {
  return {
    list: async (ctx, entityIds, entityType) => {
      const found = await findReadable(deps, ctx, [...new Set(entityIds)], entityType)
      return relationsOf(deps, ctx, found)
    },
    async sessions(ctx, entityId, entityType) {
      const [found] = await findReadable(deps, ctx, [entityId], entityType)
      if (!found) throw NoEntity({ entityType: entityType ?? 'entity', entityId })
      return sessionsOf(deps, ctx, found)
    },
  }
}

/** Reads page by page, so that no connection is held while a slow client reads the response. */
async function* pages<T>(find: (page: { after: T | undefined; limit: number }) => Promise<T[]>): AsyncGenerator<T> {
  for (let after: T | undefined; ; ) {
    const rows = await find({ after, limit: pageMax })
    yield* rows
    if (rows.length < pageMax) return
    after = rows.at(-1)
  }
}

/** Returns selections that together contain all relations of entities of one type and tenant. */
function selectionsOf(ctx: Ctx, entityType: EntityType, tenantId: string, entityIds: string[]) {
  const visibility = visibilityOf(ctx, tenantId)
  return sources
    .filter((source) => source === 'assets' || entityType === 'ENDPOINT')
    .flatMap((source) =>
      directions.map((direction) => ({ source, direction, tenantId, entityType, entityIds, visibility })),
    )
}

async function* relationsOf({ db, register }: ListDeps, ctx: Ctx, found: FoundEntity[]) {
  for (const entities of Map.groupBy(found, ({ tenantId, entityType }) => `${entityType} ${tenantId}`).values()) {
    const { entityType, tenantId } = entities[0]!
    const ids = entities.map(({ entityId }) => entityId)
    for (const selection of selectionsOf(ctx, entityType, tenantId, ids))
      for await (const row of pages<store.SeenRelation>((page) => current(db.sql, register, selection, page)))
        yield {
          ofEntityType: entityType,
          ofEntityId: row.ownId,
          entityType: row.otherType,
          entityId: row.otherId,
          relationType: selection.direction === 'outbound' ? row.type : inverse[row.type],
        }
  }
}

const current = (
  sql: Sql,
  { containments }: ListDeps['register'],
  selection: store.RelationSelection,
  page: { after: store.SeenRelation | undefined; limit: number },
) => store.findCurrent(sql, containments, selection, page)

async function* sessionsOf({ db, register }: ListDeps, ctx: Ctx, found: FoundEntity): AsyncGenerator<Session> {
  const { tenantId, entityType, entityId } = found
  const selections = selectionsOf(ctx, entityType, tenantId, [entityId])
  const session = (
    { direction }: store.RelationSelection,
    { type, otherType, otherId, createdDate, endedDate }: store.SeenRelation & { endedDate?: Date },
  ): Session => {
    const entity = { entityType, entityId }
    const other = { entityType: otherType, entityId: otherId }
    const [from, to] = direction === 'outbound' ? [entity, other] : [other, entity]
    return { type, from, to, startedAt: createdDate, ...(endedDate && { endedAt: endedDate }) }
  }
  for (const selection of selections)
    for await (const row of pages<store.SeenRelation>((page) => current(db.sql, register, selection, page)))
      yield session(selection, row)
  for (const selection of selections)
    for await (const row of pages<store.EndedRelation>((page) =>
      store.findEnded(db.sql, register.containments, selection, page),
    ))
      yield session(selection, row)
}
