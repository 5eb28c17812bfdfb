/** Permissions on asset types, assets and endpoints (document 4, section 2). */
import type { Identity } from '../../../identity/contract.ts'
import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import { holds, onResource, onTenant, visibleResources } from '../../../kernel/permissions.ts'
import { type EndpointRef, endpointResource } from '../../register/contract.ts'
import { assetResourceName, assetTypeResourceName } from '../contract.ts'
import { NoAsset, NoAssetType } from '../errors.ts'
import type { Visibility } from '../store/visibility.ts'

export const assetTypeScopes = {
  create: 'tenant:asset-type:create',
  read: 'asset-type:read',
  update: 'asset-type:update',
  delete: 'asset-type:delete',
  createAsset: 'asset-type:asset:create',
}
export const assetScopes = { read: 'asset:read', update: 'asset:update', delete: 'asset:delete' }
const endpointScopes = { read: 'endpoint:read', update: 'endpoint:update' }

interface TenantObject {
  tenantId: string
}

/**
 * Returns the asset type. Throws 404 if the asset type does not exist or the caller may not read it, and 403 if the caller may read it but
 * lacks `scope`.
 */
export function requireAssetType<T extends TenantObject>(
  ctx: Ctx,
  assetTypeId: string,
  found: T | undefined,
  scope: string,
): T {
  const notFound = () => NoAssetType({ assetTypeId })
  if (!found) throw notFound()
  const resource = onResource(found.tenantId, assetTypeResourceName(assetTypeId))
  authorizeOrNotFound(ctx, { read: assetTypeScopes.read, scope }, resource, notFound)
  return found
}

/**
 * Returns the asset. Throws 404 if the asset does not exist or the caller may not read it, and 403 if the caller may read it but lacks
 * `scope`.
 */
export function requireAsset<A extends TenantObject>(
  ctx: Ctx,
  assetId: string,
  found: A | undefined,
  scope: string,
): A {
  const notFound = () => NoAsset({ assetId })
  if (!found) throw notFound()
  const resource = onResource(found.tenantId, assetResourceName(assetId))
  authorizeOrNotFound(ctx, { read: assetScopes.read, scope }, resource, notFound)
  return found
}

export function requireAssetUpdate(ctx: Ctx, assetId: string, found: TenantObject | undefined, notFound: () => Error) {
  if (!found) throw notFound()
  const resource = onResource(found.tenantId, assetResourceName(assetId))
  authorizeOrNotFound(ctx, { read: assetScopes.read, scope: assetScopes.update }, resource, notFound)
}

export function requireEndpointUpdate(ctx: Ctx, found: EndpointRef | undefined, notFound: () => Error) {
  if (!found) throw notFound()
  const { read, update: scope } = endpointScopes
  authorizeOrNotFound(ctx, { read, scope }, endpointResource(found), notFound)
}

export const mayReadAsset = (ctx: Ctx, tenantId: string, assetId: string) =>
  holds(ctx.caller, assetScopes.read, onResource(tenantId, assetResourceName(assetId)))

export const mayReadEndpoint = (ctx: Ctx, endpoint: EndpointRef) =>
  holds(ctx.caller, endpointScopes.read, endpointResource(endpoint))

export const visibleAssetTypes = (ctx: Ctx) =>
  visibleResources(ctx.caller, assetTypeScopes.read, ctx.tenantId, assetTypeResourceName(''))

export const visibleAssets = (ctx: Ctx, tenantId: string) =>
  visibleResources(ctx.caller, assetScopes.read, tenantId, assetResourceName(''))

/** Returns which assets and endpoints of the tenant the caller may read. */
export function visibilityOf(ctx: Ctx, tenantId: string): Visibility {
  const applicationNames = visibleResources(ctx.caller, endpointScopes.read, tenantId, 'application-')
  const endpointIds = visibleResources(ctx.caller, endpointScopes.read, tenantId, 'endpoint-')
  return {
    assetIds: visibleAssets(ctx, tenantId),
    endpoints: applicationNames === 'all' || endpointIds === 'all' ? 'all' : { applicationNames, endpointIds },
  }
}

/**
 * Grants the creator every scope on the object. Grants nothing if the caller has these scopes on the whole tenant. Also grants nothing to a
 * caller of another tenant, because such a caller acts for the platform.
 */
export async function grantCreator(
  { identity, sql }: { identity: Pick<Identity, 'grantCreator'>; sql: Sql },
  ctx: Ctx,
  object: { tenantId: string; resource: string; scopes: string[] },
) {
  if (object.tenantId !== ctx.tenantId) return
  if (object.scopes.every((scope) => holds(ctx.caller, scope, onTenant(object.tenantId)))) return
  await identity.grantCreator(sql, ctx, object.resource)
}
