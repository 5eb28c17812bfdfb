/** Checks permissions on endpoints (document 4, section 2). */
import { authorize, authorizeOrNotFound, type Ctx, requireTenantAccess } from '../../kernel/contract.ts'
import { Forbidden } from '../../kernel/errors.ts'
import { holds, holdsSomewhere, onResource, tenantSystem, visibleResources } from '../../kernel/permissions.ts'
import type { ApplicationVersionRef } from '../applications/contract.ts'
import { applicationResource, type EndpointRef, endpointResource } from './contract.ts'
import { NoEndpoint } from './errors.ts'
import type { Visibility } from './lists/query.ts'

export const read = 'endpoint:read'
export const update = 'endpoint:update'
export const remove = 'endpoint:delete'
export const create = 'application:endpoint:create'

export const onApplication = (tenantId: string, name: string) => onResource(tenantId, applicationResource(name))

/**
 * Returns the endpoint if the caller has the scope on it. Throws 404 if the endpoint does not exist, belongs to another tenant or is not
 * readable for the caller. Throws 403 if the caller may read it but lacks the scope.
 */
export function requireEndpoint<E extends EndpointRef>(
  ctx: Ctx,
  endpointId: string,
  found: E | undefined,
  scope = read,
): E {
  const notFound = () => NoEndpoint({ endpointId })
  if (!found) throw notFound()
  authorizeOrNotFound(ctx, { read, scope }, endpointResource(found), notFound)
  return found
}

export const hasScopeOn = (ctx: Ctx, endpoint: EndpointRef, scope: string) =>
  holds(ctx.caller, scope, endpointResource(endpoint))

/** Returns the requested tenant. Default: the caller's tenant. Another tenant requires the scope on the platform. */
export const tenantToRead = (ctx: Ctx, requested: string | undefined) => requireTenantAccess(ctx, requested, read)

export function visibilityOf(ctx: Ctx, tenantId: string): Visibility {
  const applicationNames = visibleResources(ctx.caller, read, tenantId, 'application-')
  const endpointIds = visibleResources(ctx.caller, read, tenantId, 'endpoint-')
  return applicationNames === 'all' || endpointIds === 'all' ? 'all' : { applicationNames, endpointIds }
}

/**
 * Returns the version if the caller may register endpoints in it. Throws the error of `notFound` if the version does not exist or the
 * caller may not see it.
 */
export function requireVersionForRegistration(
  ctx: Ctx,
  found: ApplicationVersionRef | undefined,
  scopes: string[],
  notFound: () => Error,
): ApplicationVersionRef {
  // The permission is checked first. A caller that may not register anywhere therefore cannot find out which versions exist.
  for (const scope of scopes) if (!holdsSomewhere(ctx.caller, scope)) throw Forbidden({ scope, resource: tenantSystem })
  if (!found) throw notFound()
  const application = onApplication(found.tenantId, found.applicationName)
  if (
    !holds(ctx.caller, 'application:read', application) &&
    !scopes.some((scope) => holds(ctx.caller, scope, application))
  )
    throw notFound()
  for (const scope of scopes) authorize(ctx, scope, application)
  return found
}

/** The scopes that the creator of an endpoint gets on it. These are all scopes that apply to endpoints. */
const creatorScopes = [read, update, remove, 'time-series:read', 'time-series:update']

/**
 * Returns whether the creator of an endpoint needs a grant on it. Callers that have the scopes on the application or above need no grant.
 * Otherwise a backend client that registers a million endpoints would have a million grants.
 */
export const needsGrant = (ctx: Ctx, { tenantId, applicationName }: { tenantId: string; applicationName: string }) =>
  !creatorScopes.every((scope) => holds(ctx.caller, scope, onApplication(tenantId, applicationName)))
