/** Assets. Their definitions conform to the schema of their type (document 5, 6.2 and 6.3). */
import type { Identity } from '../../../identity/contract.ts'
import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import { type Ctx, requireTenantAccess } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { TooManyRequests } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { applyJsonPatchInTurns } from '../../../kernel/json-patch.ts'
import { createKeyedMutex } from '../../../kernel/keyed-mutex.ts'
import { rowsOfIds, rowsOfPage } from '../../../kernel/page-parts.ts'
import type { Window } from '../../../kernel/paging.ts'
import { assetResourceName } from '../contract.ts'
import * as store from '../store/assets.ts'
import { endRelationsOf } from '../store/relations.ts'
import { findType, type Order } from '../store/types.ts'
import { assetScopes, assetTypeScopes, grantCreator, requireAsset, requireAssetType, visibleAssets } from './access.ts'
import { checkDefinition, type Definition, derivedOf, patchedDefinition, searchOf } from './definitions.ts'

export interface AssetInput {
  definition: Definition
  uiJsonSchema?: string | undefined
  poolIds?: string[] | undefined
}

export interface AssetFilter {
  assetIds?: string[] | undefined
  assetTypeIds?: string[] | undefined
  search?: string | undefined
}

export interface AssetOperations {
  /** Creates an asset. `tenantId` is the tenant that the request names. If absent, it is the tenant of the asset type. */
  create(
    ctx: Ctx,
    type: { assetTypeId: string; tenantId?: string | undefined },
    input: AssetInput,
  ): Promise<store.AssetRow>
  list(
    ctx: Ctx,
    filter: AssetFilter,
    order: Order,
    window: Window,
  ): Promise<{ total: number; items: AsyncIterable<store.AssetRow> }>
  get(ctx: Ctx, assetId: string): Promise<store.AssetRow>
  /** Changes an asset and returns the new ETag. */
  update(ctx: Ctx, assetId: string, input: AssetInput, ifMatch: string | undefined): Promise<string>
  /** Applies a JSON Patch to the definition. Returns the new ETag. */
  patch(ctx: Ctx, assetId: string, operations: unknown[], ifMatch: string | undefined): Promise<string>
  delete(ctx: Ctx, assetId: string, ifMatch: string | undefined): Promise<void>
}

type Deps = Pick<Kit, 'db' | 'now' | 'newId'> & {
  identity: Pick<Identity, 'grantCreator' | 'forgetResource'>
  /** Limits requests that read many rows. */
  scans: ConcurrencyLimit
}

export const etagOfAsset = ({
  assetId,
  revision,
  updatedDate,
}: Pick<store.AssetRow, 'assetId' | 'revision' | 'updatedDate'>) => etagOf([assetId, revision, updatedDate])

/**
 * Maximum number of writers of one asset that wait on this node. Writers on other nodes can make an attempt fail, which is then repeated.
 */
const waitingMax = 100
const attemptsMax = 20

export function createAssetOperations(deps: Deps): AssetOperations {
  const { db } = deps
  const writers = createKeyedMutex({ waitingMax })
  const change = (ctx: Ctx, assetId: string, ifMatch: string | undefined, changeOf: ChangeOf) =>
    // The key contains the caller's tenant, so that requests of other tenants for the same id do not wait for this request.
    writers.run(`${ctx.tenantId} ${assetId}`, () => write(deps, ctx, assetId, ifMatch, changeOf))
  return {
    create: (ctx, type, input) => create(deps, ctx, type, input),
    list: (ctx, filter, order, window) => list(deps, ctx, filter, order, window),
    get: async (ctx, assetId) => requireAsset(ctx, assetId, await store.findAsset(db.sql, assetId), assetScopes.read),
    update: (ctx, assetId, { definition, uiJsonSchema = null, poolIds }, ifMatch) =>
      change(ctx, assetId, ifMatch, (old) => ({ definition, uiJsonSchema, poolIds: poolIds ?? old.poolIds })),
    patch: (ctx, assetId, operations, ifMatch) =>
      change(ctx, assetId, ifMatch, async ({ definition, uiJsonSchema, poolIds }) => ({
        definition: patchedDefinition(await applyJsonPatchInTurns(JSON.parse(definition), operations)),
        uiJsonSchema,
        poolIds,
      })),
    delete: (ctx, assetId, ifMatch) => remove(deps, ctx, assetId, ifMatch),
  }
}

async function list(
  { db, scans }: Deps,
  ctx: Ctx,
  { search, ...filter }: AssetFilter,
  order: Order,
  window: Window,
): ReturnType<AssetOperations['list']> {
  const { tenantId } = ctx
  const selection = { ...filter, tenantId, visibleIds: visibleAssets(ctx, tenantId) }
  const byIds = (ids: string[]) => store.findAssetsById(db.sql, ids)
  if (search === undefined) {
    const items = rowsOfPage(window, {
      rows: (part) => store.findAssets(db.sql, selection, order, part),
      ids: (part) => store.findAssetIds(db.sql, selection, order, part),
      byIds,
    })
    return { total: await store.countAssets(db.sql, selection), items }
  }
  const found = { ...selection, search: searchOf(search) }
  const work = async () => ({
    total: await store.countAssets(db.sql, found),
    ids: await store.findAssetIds(db.sql, found, order, window),
  })
  const { total, ids } = await scans.run(tenantId, work, ctx)
  return { total, items: rowsOfIds(ids, byIds) }
}

async function create(
  { db, now, newId, identity }: Deps,
  ctx: Ctx,
  { assetTypeId, tenantId: requestedTenantId }: { assetTypeId: string; tenantId?: string | undefined },
  input: AssetInput,
) {
  if (requestedTenantId !== undefined) requireTenantAccess(ctx, requestedTenantId, assetTypeScopes.createAsset)
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const found = await findType(db.sql, assetTypeId)
    const { tenantId, definitionJsonSchema, revision } = requireAssetType(
      ctx,
      assetTypeId,
      requestedTenantId === undefined || found?.tenantId === requestedTenantId ? found : undefined,
      assetTypeScopes.createAsset,
    )
    const derived = derivedOf(input.definition.parse())
    await checkDefinition(tenantId, definitionJsonSchema, input.definition.text)
    const at = now()
    const row: store.AssetRow = {
      assetId: newId(),
      tenantId,
      assetTypeId,
      definition: input.definition.text,
      uiJsonSchema: input.uiJsonSchema ?? null,
      poolIds: input.poolIds ?? null,
      createdDate: at,
      updatedDate: at,
      revision: 1,
    }
    const inserted = await db.tx(async (sql) => {
      if (!(await store.insertAsset(sql, { ...row, ...derived }, revision))) return false
      const resource = assetResourceName(row.assetId)
      await grantCreator({ identity, sql }, ctx, { tenantId, resource, scopes: Object.values(assetScopes) })
      return true
    })
    if (inserted) return row
  }
  throw TooManyRequests({ seconds: 1 })
}

interface Change {
  definition: Definition
  uiJsonSchema: string | null
  poolIds: string[] | null
}
type ChangeOf = (old: store.AssetRow) => Change | Promise<Change>

/**
 * Validates and stores a change without a lock, because validation can take two seconds. If the asset or its type was changed meanwhile,
 * the change is computed and validated again.
 */
async function write(
  { db, now }: Deps,
  ctx: Ctx,
  assetId: string,
  ifMatch: string | undefined,
  changeOf: ChangeOf,
): Promise<string> {
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const found = await store.findAssetWithSchema(db.sql, assetId)
    const old = requireAsset(ctx, assetId, found, assetScopes.update)
    checkIfMatch(ifMatch, etagOfAsset(old))
    const { definition, ...fields } = await changeOf(old)
    const derived = derivedOf(definition.parse())
    await checkDefinition(old.tenantId, old.definitionJsonSchema, definition.text)
    const updatedDate = now()
    const change = { ...fields, definition: definition.text, updatedDate, ...derived }
    if (await store.updateAsset(db.sql, old, change))
      return etagOfAsset({ assetId, revision: old.revision + 1, updatedDate })
  }
  throw TooManyRequests({ seconds: 1 })
}

const remove = ({ db, now, identity }: Deps, ctx: Ctx, assetId: string, ifMatch: string | undefined) =>
  db.tx(async (sql) => {
    const found = requireAsset(ctx, assetId, await store.lockAsset(sql, assetId), assetScopes.delete)
    checkIfMatch(ifMatch, etagOfAsset(found))
    await store.deleteAsset(sql, assetId)
    const { tenantId } = found
    await endRelationsOf(sql, { tenantId, entityType: 'ASSET', entityIds: [assetId], endedDate: now() })
    await identity.forgetResource(sql, tenantId, assetResourceName(assetId))
  })
