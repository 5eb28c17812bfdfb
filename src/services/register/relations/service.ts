import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { InvalidRequest } from '../../../kernel/errors.ts'
import { contentPageStream, contentPageText } from '../../../kernel/json-text.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import { hasScopeOn, requireEndpoint, update, visibilityOf } from '../access.ts'
import type { ContainmentSource, Containments, EndpointRef, Relation } from '../contract.ts'
import * as endpoints from '../endpoints/store/endpoints.ts'
import { NoEndpoint } from '../errors.ts'
import { RelationsUpdated } from '../events.ts'
import { ancestryOf, createContainments } from './containments.ts'
import * as store from './store.ts'

export interface LinkOutcome {
  successful: Relation[]
  failed: (Relation & { reason: string })[]
}

export interface RelationOperations {
  link(ctx: Ctx, relations: Relation[]): Promise<LinkOutcome>
  unlink(ctx: Ctx, relations: Relation[]): Promise<void>
  list(
    ctx: Ctx,
    query: { endpointId: string; direction: store.Direction; offset: number; limit: number },
  ): Promise<string | AsyncIterable<string>>
  /** Queues transactions that lock the tenant's relations, so that waiting requests hold no connection. */
  serialize<T>(tenantId: string, work: () => Promise<T>): Promise<T>
  /** Locks the endpoints to which a registration creates relations. Throws 404 for an endpoint that the caller may not update. */
  lockLinkedEndpoints(sql: Sql, ctx: Ctx, tenantId: string, endpointIds: string[]): Promise<void>
  /** Creates relations in the given order. The caller must hold the lock on the tenant's relations. */
  connect(sql: Sql, tenantId: string, relations: Relation[]): Promise<LinkOutcome>
  containments: Containments
}

const pageMax = 1000
const waitingMax = 200

type Deps = Pick<Kit, 'db' | 'bus' | 'now'> & {
  /** Services that add relations with other entities. Their relations are included in the check for cycles. */
  sources: ContainmentSource[]
}

export function createRelationOperations({ db, bus, now }: Kit): RelationOperations {
  const queue = createKeyedMutex({ waitingMax })
  const deps: Deps = { db, bus, now, sources: [] }
  return {
    containments: createContainments(deps, deps.sources, queue.run),
    connect: (sql, tenantId, relations) => connect(deps, sql, tenantId, relations),
    serialize: queue.run,
    lockLinkedEndpoints,
    link: async (ctx, relations) =>
      relations.length === 0
        ? { successful: [], failed: [] }
        : await queue.run(ctx.tenantId, () => link(deps, ctx, relations)),
    unlink: async (ctx, relations) => {
      if (relations.length > 0) await unlink(deps, ctx, relations)
    },
    list: (ctx, query) => list(deps, ctx, query),
  }
}

async function connect(
  { bus, now, sources }: Deps,
  sql: Sql,
  tenantId: string,
  relations: Relation[],
): Promise<LinkOutcome> {
  const ancestry = await ancestryOf(sql, sources, tenantId, [...new Set(relations.map(({ from }) => from))])
  const newRelations = new Map<string, Relation>()
  // The relations are checked in order, each together with the relations before it.
  const results = relations.map((relation): LinkResult => {
    const { from, to } = relation
    if (from === to) return 'self'
    if (ancestry.contains(to, from)) return 'cycle'
    if (newRelations.has(keyOf(relation))) return 'duplicate'
    newRelations.set(keyOf(relation), relation)
    ancestry.add(relation)
    return 'created'
  })
  const inserted = await store.insertRelations(sql, [...newRelations.values()], { tenantId, at: now() })
  const insertedKeys = new Set(inserted.map(keyOf))
  const outcome: LinkOutcome = { successful: [], failed: [] }
  for (const [index, relation] of relations.entries()) {
    const result = results[index]!
    const reason = reasons[result === 'created' && !insertedKeys.has(keyOf(relation)) ? 'duplicate' : result]
    if (reason === undefined) outcome.successful.push(relation)
    else outcome.failed.push({ ...relation, reason })
  }
  if (outcome.successful.length > 0)
    await bus.publish(sql, RelationsUpdated, { tenantId, linked: outcome.successful, unlinked: [] })
  return outcome
}

/**
 * Locks the endpoints of all relations. Checks that the caller may update these endpoints (404 before 403) and that they have the same
 * tenant, which it returns.
 */
async function lockEnds(sql: Sql, ctx: Ctx, relations: Relation[]): Promise<string> {
  const ids = [...new Set(relations.flatMap(({ from, to }) => [from, to]))]
  const refById = new Map((await endpoints.lockRefsShared(sql, ids)).map((ref) => [ref.endpointId, ref]))
  const ends = ids.map((id) => requireEndpoint(ctx, id, refById.get(id)))
  for (const end of ends) requireEndpoint(ctx, end.endpointId, end, update)
  const tenants = [...new Set(ends.map(({ tenantId }) => tenantId))]
  if (tenants.length > 1) throw InvalidRequest({ problem: 'body: all endpoints must belong to one tenant' })
  return tenants[0] ?? ctx.tenantId
}

async function lockLinkedEndpoints(sql: Sql, ctx: Ctx, tenantId: string, endpointIds: string[]) {
  const locked = new Map<string, EndpointRef>()
  for (const ref of await endpoints.lockRefsShared(sql, endpointIds)) locked.set(ref.endpointId, ref)
  for (const endpointId of endpointIds) {
    const ref = locked.get(endpointId)
    if (!ref || ref.tenantId !== tenantId || !hasScopeOn(ctx, ref, update)) throw NoEndpoint({ endpointId })
  }
}

const link = (deps: Deps, ctx: Ctx, relations: Relation[]) =>
  deps.db.tx(async (sql) => {
    await store.lockRelations(sql, ctx.tenantId)
    const tenantId = await lockEnds(sql, ctx, relations)
    if (tenantId !== ctx.tenantId) await store.lockRelations(sql, tenantId)
    return await connect(deps, sql, tenantId, relations)
  })

const unlink = ({ db, bus, now }: Deps, ctx: Ctx, relations: Relation[]) =>
  db.tx(async (sql) => {
    const tenantId = await lockEnds(sql, ctx, relations)
    const deleted = await store.deleteRelations(sql, relations, now())
    const missing = relations.filter(
      ({ from, to }) => !deleted.some((relation) => relation.from === from && relation.to === to),
    )
    if (missing.length > 0) throw InvalidRequest({ problem: `body: there is no relation ${textOf(missing)}` })
    await bus.publish(sql, RelationsUpdated, { tenantId, linked: [], unlinked: [...deleted] })
  })

type ListRequest = Parameters<RelationOperations['list']>[1]

async function list({ db }: Deps, ctx: Ctx, request: ListRequest) {
  const { endpointId, direction, offset, limit } = request
  const { tenantId } = requireEndpoint(ctx, endpointId, await endpoints.findRef(db.sql, endpointId))
  const selection = { tenantId, endpointId, direction, visibility: visibilityOf(ctx, tenantId) }
  const total = await store.countRelations(db.sql, selection)
  if (limit === 0 || limit > pageMax) return contentPageStream(total, streamRelations(db.sql, selection, request))
  const rows = await store.findRelations(db.sql, { ...selection, after: '', offset, limit })
  return contentPageText(total, rows.map(jsonOf))
}

/** Reads page by page, so that no connection is held while a slow client reads the response. */
async function* streamRelations(
  sql: Sql,
  selection: Omit<Parameters<typeof store.findRelations>[1], 'after' | 'offset' | 'limit'>,
  { direction, offset, limit }: ListRequest,
) {
  let remaining = limit || Number.POSITIVE_INFINITY
  for (let [after, skip] = ['', offset]; remaining > 0; skip = 0) {
    const page = Math.min(pageMax, remaining)
    const rows = await store.findRelations(sql, { ...selection, after, offset: skip, limit: page })
    yield* rows.map(jsonOf)
    if (rows.length < page) return
    remaining -= rows.length
    after = direction === 'outbound' ? rows.at(-1)!.to : rows.at(-1)!.from
  }
}

type LinkResult = 'created' | 'self' | 'cycle' | 'duplicate'

const reasons: Record<LinkResult, string | undefined> = {
  created: undefined,
  self: 'An endpoint cannot contain itself',
  cycle: 'This would create a cycle: the endpoint in `to` contains the endpoint in `from` already',
  duplicate: 'This relation exists already',
}

/** Returns a unique key of a relation. Ids contain no spaces. */
const keyOf = ({ type, from, to }: Relation) => `${type} ${from} ${to}`

const jsonOf = ({ type, from, to }: Relation) => JSON.stringify({ type, from, to })

const textOf = (relations: Relation[]) => {
  const first = relations.slice(0, 5).map(({ from, to }) => `${from} contains ${to}`)
  return relations.length > 5 ? `${first.join('; ')} and ${relations.length - 5} more` : first.join('; ')
}
