/** Asset types. An asset type has a JSON schema to which the definitions of its assets conform (document 5, 6.1). */
import type { Identity } from '../../../identity/contract.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { rowsOfPage } from '../../../kernel/page-parts.ts'
import type { Window } from '../../../kernel/paging.ts'
import { assetTypeResourceName } from '../contract.ts'
import { AssetTypeInUse, AssetTypeTaken, NoAssetType } from '../errors.ts'
import * as store from '../store/types.ts'
import { assetTypeScopes, grantCreator, requireAssetType, visibleAssetTypes } from './access.ts'
import { checkSchema } from './definitions.ts'

export interface AssetTypeInput {
  type?: string | undefined
  displayName: string
  description?: string | undefined
  definitionJsonSchema: string
  uiJsonSchema?: string | undefined
  poolIds?: string[] | undefined
}

export interface AssetTypeOperations {
  create(ctx: Ctx, input: AssetTypeInput): Promise<store.AssetTypeRow>
  list(
    ctx: Ctx,
    filter: { type?: string | undefined; description?: string | undefined },
    order: store.Order,
    window: Window,
  ): Promise<{ total: number; items: AsyncIterable<store.AssetTypeRow> }>
  get(ctx: Ctx, assetTypeId: string): Promise<store.AssetTypeRow>
  /** Changes an asset type and returns the new ETag. */
  update(ctx: Ctx, assetTypeId: string, input: AssetTypeInput, ifMatch: string | undefined): Promise<string>
  delete(ctx: Ctx, assetTypeId: string, ifMatch: string | undefined): Promise<void>
}

type Deps = Pick<Kit, 'db' | 'now' | 'newId'> & { identity: Pick<Identity, 'grantCreator' | 'forgetResource'> }

export const etagOfType = ({ assetTypeId, revision, updatedDate }: store.AssetTypeRow) =>
  etagOf([assetTypeId, revision, updatedDate])

export function createAssetTypeOperations(deps: Deps): AssetTypeOperations {
  const { db } = deps
  return {
    create: (ctx, input) => create(deps, ctx, input),
    async list(ctx, filter, order, window) {
      const selection = { ...filter, tenantId: ctx.tenantId, assetTypeIds: visibleAssetTypes(ctx) }
      const items = rowsOfPage(window, {
        rows: (part) => store.findTypes(db.sql, selection, order, part),
        ids: (part) => store.findTypeIds(db.sql, selection, order, part),
        byIds: (ids) => store.findTypesById(db.sql, ids),
      })
      return { total: await store.countTypes(db.sql, selection), items }
    },
    get: async (ctx, assetTypeId) =>
      requireAssetType(ctx, assetTypeId, await store.findType(db.sql, assetTypeId), assetTypeScopes.read),
    update: (ctx, assetTypeId, input, ifMatch) => update(deps, ctx, assetTypeId, input, ifMatch),
    delete: (ctx, assetTypeId, ifMatch) => remove(deps, ctx, assetTypeId, ifMatch),
  }
}

async function create({ db, now, newId, identity }: Deps, ctx: Ctx, input: AssetTypeInput) {
  const { tenantId } = ctx
  await checkSchema(tenantId, input.definitionJsonSchema)
  const at = now()
  const fields = { ...fieldsOf(input), tenantId, createdDate: at, updatedDate: at, revision: 1 }
  return await db.tx(async (sql) => {
    const assetTypeId = newId()
    const insert = (type: string) => store.insertType(sql, { assetTypeId, ...fields, type })
    const type = input.type ?? (await insertNumbered(sql, tenantId, input.displayName, insert))
    if (input.type !== undefined && !(await insert(type))) throw AssetTypeTaken({ type })
    const { read, update, delete: remove, createAsset } = assetTypeScopes
    const resource = assetTypeResourceName(assetTypeId)
    await grantCreator({ identity, sql }, ctx, { tenantId, resource, scopes: [read, update, remove, createAsset] })
    return { assetTypeId, ...fields, type }
  })
}

const typeLengthMax = 50

/** Derives the name of a type from its display name: upper case, `_` for other characters, and at least two characters. */
const typeOf = (displayName: string) =>
  displayName
    .toUpperCase()
    .replace(/[^A-Z0-9_]/gu, '_')
    .slice(0, typeLengthMax)
    .padEnd(2, '_')

/**
 * Derives the name of a type from its display name, and inserts the type. If another type has this name, a number is appended. Returns the
 * name.
 */
async function insertNumbered(
  sql: Sql,
  tenantId: string,
  displayName: string,
  insert: (type: string) => Promise<boolean>,
): Promise<string> {
  const plain = typeOf(displayName)
  if (await insert(plain)) return plain
  // The search starts near the first free number. With a thousand types of the same name, starting at 2 would take a thousand attempts.
  const others = await store.countTypesLike(sql, tenantId, plain.slice(0, typeLengthMax - 10))
  for (let number = Math.max(2, others); ; number++) {
    const type = `${plain.slice(0, typeLengthMax - 1 - String(number).length)}_${number}`
    if (await insert(type)) return type
  }
}

/** Returns the fields to store. Fields that are absent in the input are removed. */
const fieldsOf = (input: AssetTypeInput) => ({
  displayName: input.displayName,
  description: input.description ?? null,
  definitionJsonSchema: input.definitionJsonSchema,
  uiJsonSchema: input.uiJsonSchema ?? null,
  poolIds: input.poolIds ?? null,
})

async function update(
  { db, now }: Deps,
  ctx: Ctx,
  assetTypeId: string,
  input: AssetTypeInput,
  ifMatch: string | undefined,
): Promise<string> {
  const permitted = (found: store.AssetTypeRow | undefined) =>
    requireAssetType(ctx, assetTypeId, found, assetTypeScopes.update)
  const { tenantId, definitionJsonSchema } = permitted(await store.findType(db.sql, assetTypeId))
  // The schema is checked before the transaction, because this can take two seconds.
  if (input.definitionJsonSchema !== definitionJsonSchema) await checkSchema(tenantId, input.definitionJsonSchema)
  return await db.tx(async (sql) => {
    const old = permitted(await store.lockType(sql, assetTypeId))
    checkIfMatch(ifMatch, etagOfType(old))
    const type = input.type ?? old.type
    const poolIds = input.poolIds ?? old.poolIds
    const row = { ...old, ...fieldsOf(input), type, poolIds, updatedDate: now(), revision: old.revision + 1 }
    if (!(await store.updateType(sql, row))) throw AssetTypeTaken({ type })
    return etagOfType(row)
  })
}

const remove = ({ db, identity }: Deps, ctx: Ctx, assetTypeId: string, ifMatch: string | undefined) =>
  db.tx(async (sql) => {
    const found = await store.lockType(sql, assetTypeId)
    if (!found) throw NoAssetType({ assetTypeId })
    requireAssetType(ctx, assetTypeId, found, assetTypeScopes.delete)
    checkIfMatch(ifMatch, etagOfType(found))
    if (await store.hasAssets(sql, assetTypeId)) throw AssetTypeInUse({ assetTypeId })
    await store.deleteType(sql, assetTypeId)
    await identity.forgetResource(sql, found.tenantId, assetTypeResourceName(assetTypeId))
  })
