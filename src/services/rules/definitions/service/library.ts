/** The common code for rules, actions, triggers, snippets, secrets and alert settings: permissions, lists, ETags and changes. */
import { isDeepStrictEqual } from 'node:util'
import { authorizeOrNotFound, type Ctx } from '../../../../kernel/contract.ts'
import type { Sql } from '../../../../kernel/db.ts'
import type { PlatformError } from '../../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../../kernel/etag.ts'
import { partsOfPage } from '../../../../kernel/page-parts.ts'
import { type Window, windowOfPage } from '../../../../kernel/paging.ts'
import { holds, onResource, visibleResources } from '../../../../kernel/permissions.ts'
import { PartOfAlertSetting } from '../../errors.ts'
import * as store from '../store/library.ts'
import { isSized, sizeOfDefinition } from '../store/sizes.ts'
import { checkDefinitionLimit } from './definition-limit.ts'
import type { Deps } from './deps.ts'

/** A kind of object, for example rules, or actions of one type. */
export interface Kind {
  table: store.Table
  /** Only actions and triggers have types. */
  type?: string
  /** Name in scopes: `rule`, `webhook-action`. */
  scope: string
  /** Name in resources: `rule`, `action`. */
  resource: string
  missing(id: string): PlatformError
  /** The column that counts changes. */
  counter: 'version' | 'revision'
  /** True if nodes cache these objects in memory. */
  isCached: boolean
}

export interface Row extends store.LibraryRow {
  /** Only rules, actions and triggers have a size. */
  bytes?: number
  version?: number
  revision?: number
  alertSettingId?: string | null
}

export type Verb = 'read' | 'update' | 'delete' | 'execute'

export interface ListQuery {
  page: number
  size: number
  name?: string | undefined
  description?: string | undefined
  sort: 'createdAt' | 'updatedAt'
  sortOrder: 'asc' | 'desc'
  include?: string | undefined
  ruleId?: string | undefined
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string) => uuid.test(text)

export const resourceName = (kind: Pick<Kind, 'resource'>, id: string) => `${kind.resource}-${id}`
const resourceOf = (kind: Kind, tenantId: string, id: string) => onResource(tenantId, resourceName(kind, id))
export const etagOfRow = (kind: Kind, row: Row) => etagOf(kind.table, row.id, row[kind.counter])

export const mayRead = (ctx: Ctx, kind: Kind, id: string) =>
  holds(ctx.caller, `${kind.scope}:read`, resourceOf(kind, ctx.tenantId, id))

/**
 * Returns the object if the caller holds the scope on it. Otherwise throws 403 if the caller may read the object, and 404 if not. If `lock`
 * is set, `sql` must be a transaction.
 */
export async function requireRow<R extends Row>(
  sql: Sql,
  ctx: Ctx,
  kind: Kind,
  request: { id: string; verb: Verb; lock?: boolean },
): Promise<R> {
  const id = request.id.toLowerCase()
  const key = { tenantId: ctx.tenantId, id, type: kind.type }
  const find = request.lock ? store.lockRow : store.findRow
  const row = isUuid(id) ? await find<R>(sql, kind.table, key) : undefined
  if (!row) throw kind.missing(request.id)
  const access = { read: `${kind.scope}:read`, scope: `${kind.scope}:${request.verb}` }
  authorizeOrNotFound(ctx, access, resourceOf(kind, ctx.tenantId, id), () => kind.missing(request.id))
  return row
}

/** Throws 409 for a part of an alert setting, because only the setting may change its parts (document 5, 5.1). */
export function requireOwn({ id, alertSettingId }: { id: string; alertSettingId?: string | null }) {
  if (alertSettingId) throw PartOfAlertSetting({ id, alertSettingId })
}

/** A page of a list. Its items are read in parts while they are sent. */
export interface Listed<V> {
  totalElements: number
  items: AsyncIterable<V>
}

export const nothingListed: Listed<never> = { totalElements: 0, items: (async function* () {})() }

/** Lists the objects that the caller may read. A page is read in parts; `viewsOf` converts the rows of one part to views. */
export async function list<R extends Row, V>(
  { kit: { db } }: Deps,
  ctx: Ctx,
  kind: Kind,
  requested: ListQuery,
  viewsOf: (rows: R[]) => V[] | Promise<V[]>,
): Promise<Listed<V>> {
  const hasParts = kind.table === 'rules' || kind.table === 'actions' || kind.table === 'triggers'
  const query: store.LibraryQuery = {
    tenantId: ctx.tenantId,
    type: kind.type,
    visible: visibleResources(ctx.caller, `${kind.scope}:read`, ctx.tenantId, `${kind.resource}-`),
    name: requested.name,
    description: requested.description,
    sort: requested.sort,
    descending: requested.sortOrder === 'desc',
    ofAlertSettings: hasParts ? requested.include !== undefined : undefined,
    ruleId: requested.ruleId,
    ...(windowOfPage(requested) satisfies Window),
  }
  if (requested.ruleId !== undefined && !isUuid(requested.ruleId)) return nothingListed
  const parts = partsOfPage<R>(query, {
    rows: (window) => store.findRows<R>(db.sql, kind.table, { ...query, ...window }),
    ids: (window) => store.findRowIds(db.sql, kind.table, { ...query, ...window }),
    byIds: (ids) => store.findRowsById<R>(db.sql, kind.table, ids),
  })
  async function* items() {
    for await (const rows of parts) yield* await viewsOf(rows)
  }
  return { totalElements: await store.countRows(db.sql, kind.table, query), items: items() }
}

/** Inserts an object in an open transaction and grants its creator the permissions on it. Returns its id. */
export async function insert(deps: Deps, sql: Sql, ctx: Ctx, kind: Kind, columns: object): Promise<string> {
  const { kit, identity, changes } = deps
  const id = kit.newId()
  const at = kit.now()
  const { tenantId } = ctx
  await store.insertRow(sql, kind.table, {
    id,
    tenantId,
    ...(kind.type !== undefined && { type: kind.type }),
    ...columns,
    createdAt: at,
    updatedAt: at,
  })
  await identity.grantCreator(sql, ctx, resourceName(kind, id))
  if (isSized(kind.table)) await checkDefinitionLimit(deps, sql, tenantId)
  if (kind.isCached) await changes.record(sql, tenantId, [id])
  return id
}

/** Returns whether the row already has these values. */
export const isSame = (row: Row, columns: object) =>
  Object.entries(columns).every(([name, value]) => isDeepStrictEqual(row[name as keyof Row], value))

/** Changes a locked object. Returns the new value of its change counter, or undefined if the columns already have these values. */
export async function change(deps: Deps, sql: Sql, kind: Kind, row: Row, columns: object): Promise<number | undefined> {
  if (isSame(row, columns)) return undefined
  const { kit, changes } = deps
  const counted = row[kind.counter]! + 1
  const key = { tenantId: row.tenantId, id: row.id }
  await store.updateRow(sql, kind.table, key, { ...columns, [kind.counter]: counted, updatedAt: kit.now() })
  const hasGrown = isSized(kind.table) && (await sizeOfDefinition(sql, kind.table, row.id)) > row.bytes!
  if (hasGrown) await checkDefinitionLimit(deps, sql, row.tenantId)
  if (kind.isCached) await changes.record(sql, row.tenantId, [row.id])
  return counted
}

/**
 * Deletes an object for a caller. A part of an alert setting cannot be deleted. `linked` returns the ids of other objects that the deletion
 * changes, such as the rules of an action.
 */
export async function remove(
  deps: Deps,
  ctx: Ctx,
  kind: Kind,
  { id, ifMatch }: { id: string; ifMatch: string | undefined },
  linked: (sql: Sql, row: Row) => Promise<string[]> = async () => [],
) {
  const { kit, identity, changes } = deps
  await kit.db.tx(async (sql) => {
    const row = await requireRow<Row>(sql, ctx, kind, { id, verb: 'delete', lock: true })
    requireOwn(row)
    checkIfMatch(ifMatch, etagOfRow(kind, row))
    const others = await linked(sql, row)
    await store.deleteRow(sql, kind.table, row)
    await identity.forgetResource(sql, row.tenantId, resourceName(kind, row.id))
    if (kind.isCached) await changes.record(sql, row.tenantId, [row.id, ...others])
  })
}

export interface StatisticsView {
  minDuration: number
  maxDuration: number
  avgDuration: number
  lastDuration: number
  count: number
}

export function statisticsView(row: store.StatisticsRow | undefined): StatisticsView {
  const { count, totalMs, minMs, maxMs, lastMs } = row ?? { count: 0, totalMs: 0, minMs: 0, maxMs: 0, lastMs: 0 }
  return {
    minDuration: Math.round(minMs),
    maxDuration: Math.round(maxMs),
    avgDuration: count === 0 ? 0 : Math.round(totalMs / count),
    lastDuration: Math.round(lastMs),
    count,
  }
}

export const findById = (sql: Sql, kind: Kind, key: { tenantId: string; id: string }) =>
  store.findRow<Row>(sql, kind.table, { ...key, type: kind.type })
