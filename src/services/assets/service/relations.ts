/** Relations between assets and endpoints (document 5, 6.4). The register stores CONTAINS relations between two endpoints. */
import { splitForEvents } from '../../../kernel/bus.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { InvalidRequest } from '../../../kernel/errors.ts'
import type { Register } from '../../register/contract.ts'
import { NoEntity } from '../errors.ts'
import { type EntityRelation, EntityRelationsUpdated, type RelatedEntity } from '../events.ts'
import { lockAssetRefs } from '../store/assets.ts'
import * as store from '../store/relations.ts'
import { requireAssetUpdate, requireEndpointUpdate } from './access.ts'

export interface RelationOperations {
  /** Creates all relations or no relation. `fieldOf` names a relation of the request in an error. */
  link(ctx: Ctx, relations: EntityRelation[], fieldOf: (index: number) => string): Promise<void>
  unlink(ctx: Ctx, relations: EntityRelation[]): Promise<void>
}

type Deps = Pick<Kit, 'db' | 'bus' | 'now'> & { register: Pick<Register, 'containments'> }

export function createRelationOperations(deps: Deps): RelationOperations {
  const { containments } = deps.register
  containments.addSource({ containersOf: store.findContainers })
  return {
    async link(ctx, relations, fieldOf) {
      if (relations.length > 0) await containments.serialize(ctx.tenantId, () => link(deps, ctx, relations, fieldOf))
    },
    async unlink(ctx, relations) {
      if (relations.length > 0) await unlink(deps, ctx, relations)
    },
  }
}

const keyOf = ({ entityType, entityId }: RelatedEntity) => store.containmentKey(entityType, entityId)

/**
 * Locks all entities, and returns their tenant. Throws 404 for an entity that the caller may not read, 403 for an entity that the caller
 * may read but not update, and 400 if the entities belong to several tenants.
 */
async function lockEntities({ register }: Deps, sql: Sql, ctx: Ctx, relations: EntityRelation[]): Promise<string> {
  const entities = relations.flatMap(({ from, to }) => [from, to])
  const idsOf = (type: store.EntityType) => [
    ...new Set(entities.filter(({ entityType }) => entityType === type).map(({ entityId }) => entityId)),
  ]
  const [assetIds, endpointIds] = [idsOf('ASSET'), idsOf('ENDPOINT')]
  const endpointRows = endpointIds.length > 0 ? await register.containments.lockEndpoints(sql, endpointIds) : []
  const assetRows = assetIds.length > 0 ? await lockAssetRefs(sql, assetIds) : []
  const endpoints = new Map(endpointRows.map((endpoint) => [endpoint.endpointId, endpoint]))
  const assets = new Map(assetRows.map((asset) => [asset.assetId, asset]))
  for (const { entityType, entityId } of entities) {
    const notFound = () => NoEntity({ entityType, entityId })
    if (entityType === 'ASSET') requireAssetUpdate(ctx, entityId, assets.get(entityId), notFound)
    else requireEndpointUpdate(ctx, endpoints.get(entityId), notFound)
  }
  const tenantIds = new Set([...endpointRows, ...assetRows].map(({ tenantId }) => tenantId))
  if (tenantIds.size > 1) throw InvalidRequest({ problem: 'body: all entities must belong to one tenant' })
  return [...tenantIds][0]!
}

/** Divides relations into relations that the register stores and relations that this service stores. */
function divide(relations: EntityRelation[]) {
  const isOfRegister = ({ type, from, to }: EntityRelation) =>
    type === 'CONTAINS' && from.entityType === 'ENDPOINT' && to.entityType === 'ENDPOINT'
  const ofRegister = relations.filter(isOfRegister).map(({ from, to }) => ({ from: from.entityId, to: to.entityId }))
  const rows = relations
    .filter((relation) => !isOfRegister(relation))
    .map(({ type, from, to }) => ({
      ...{ type, fromType: from.entityType, fromId: from.entityId },
      ...{ toType: to.entityType, toId: to.entityId },
    }))
  return { ofRegister, rows }
}

const link = (deps: Deps, ctx: Ctx, relations: EntityRelation[], fieldOf: (index: number) => string): Promise<void> =>
  deps.db.tx(async (sql) => {
    const { containments } = deps.register
    await containments.lock(sql, ctx.tenantId)
    const tenantId = await lockEntities(deps, sql, ctx, relations)
    if (tenantId !== ctx.tenantId) await containments.lock(sql, tenantId)
    await rejectCycles(deps, sql, tenantId, relations, fieldOf)
    const { ofRegister, rows } = divide(relations)
    if (ofRegister.length > 0) await containments.link(sql, tenantId, ofRegister)
    const linked = rows.length > 0 ? await store.insertRelations(sql, tenantId, rows, deps.now()) : []
    await publish(deps, sql, tenantId, linked, 'linked')
  })

async function rejectCycles(
  { register }: Deps,
  sql: Sql,
  tenantId: string,
  relations: EntityRelation[],
  fieldOf: (index: number) => string,
) {
  const self = relations.findIndex(({ from, to }) => keyOf(from) === keyOf(to))
  if (self >= 0) throw InvalidRequest({ problem: `${fieldOf(self)}: an entity cannot be related to itself` })
  const containing = relations.flatMap((relation, index) => (relation.type === 'CONTAINS' ? [{ relation, index }] : []))
  if (containing.length === 0) return
  const keys = containing.map(({ relation: { from, to } }) => ({ from: keyOf(from), to: keyOf(to) }))
  const cycle = await register.containments.firstCycle(sql, tenantId, keys)
  if (cycle === undefined) return
  const { relation, index } = containing[cycle]!
  const { from, to } = relation
  throw InvalidRequest({
    problem: `${fieldOf(index)}: this would create a cycle: ${to.entityId} contains ${from.entityId} already; nothing was changed`,
  })
}

const unlink = (deps: Deps, ctx: Ctx, relations: EntityRelation[]): Promise<void> =>
  deps.db.tx(async (sql) => {
    const tenantId = await lockEntities(deps, sql, ctx, relations)
    const { ofRegister, rows } = divide(relations)
    if (ofRegister.length > 0) await deps.register.containments.unlink(sql, tenantId, ofRegister)
    const unlinked = rows.length > 0 ? await store.deleteRelations(sql, tenantId, rows, deps.now()) : []
    await publish(deps, sql, tenantId, unlinked, 'unlinked')
  })

async function publish(
  { bus }: Deps,
  sql: Sql,
  tenantId: string,
  rows: store.RelationRow[],
  change: 'linked' | 'unlinked',
) {
  if (!bus.hasSubscribers(EntityRelationsUpdated)) return
  const relations = rows.map(({ type, fromType, fromId, toType, toId }) => ({
    type,
    from: { entityType: fromType, entityId: fromId },
    to: { entityType: toType, entityId: toId },
  }))
  for (const part of splitForEvents(relations))
    await bus.publish(sql, EntityRelationsUpdated, { tenantId, linked: [], unlinked: [], [change]: part })
}
