/** Who may see and do what with an endpoint (document 4, section 2). */
import { authorize, authorizeOn, type Ctx, tenantOf } from '../../kernel/contract.ts'
import { Forbidden } from '../../kernel/errors.ts'
import { holds, holdsSomewhere, onResource, tenantSystem, visible } from '../../kernel/permissions.ts'
import type { ApplicationVersionRef } from '../applications/contract.ts'
import { applicationResource, type EndpointRef, endpointResource } from './contract.ts'
import { NoEndpoint } from './errors.ts'
import type { Sight } from './lists/query.ts'

export const read = 'endpoint:read'
export const update = 'endpoint:update'
export const remove = 'endpoint:delete'
export const create = 'application:endpoint:create'

export const onApplication = (tenantId: string, name: string) => onResource(tenantId, applicationResource(name))

/**
 * The endpoint, if the caller may do this with it. An endpoint of another tenant, one that the caller may not read and
 * one that does not exist are the same 404; readable, but without the scope: 403.
 */
export function permitted<E extends EndpointRef>(ctx: Ctx, endpointId: string, found: E | undefined, scope = read): E {
  const missing = () => NoEndpoint({ endpointId })
  if (!found) throw missing()
  authorizeOn(ctx, { read, scope }, endpointResource(found), missing)
  return found
}

export const mayUse = (ctx: Ctx, endpoint: EndpointRef, scope: string) =>
  holds(ctx.caller, scope, endpointResource(endpoint))

/** The tenant whose endpoints are asked for: another one than the caller's needs the scope on the platform. */
export const tenantToRead = (ctx: Ctx, requested: string | undefined) => tenantOf(ctx, requested, read)

export function sightOf(ctx: Ctx, tenantId: string): Sight {
  const applicationNames = visible(ctx.caller, read, tenantId, 'application-')
  const endpointIds = visible(ctx.caller, read, tenantId, 'endpoint-')
  return applicationNames === 'all' || endpointIds === 'all' ? 'all' : { applicationNames, endpointIds }
}

/** The version, if the caller may register endpoints in it; a version that is not visible is the given error. */
export function permittedVersion(
  ctx: Ctx,
  found: ApplicationVersionRef | undefined,
  scopes: string[],
  missing: () => Error,
): ApplicationVersionRef {
  // Who can register nowhere learns nothing about what exists.
  for (const scope of scopes) if (!holdsSomewhere(ctx.caller, scope)) throw Forbidden({ scope, resource: tenantSystem })
  if (!found) throw missing()
  const application = onApplication(found.tenantId, found.applicationName)
  if (
    !holds(ctx.caller, 'application:read', application) &&
    !scopes.some((scope) => holds(ctx.caller, scope, application))
  )
    throw missing()
  for (const scope of scopes) authorize(ctx, scope, application)
  return found
}

/** What the creator of an endpoint is to hold on it; all that can be asked for on an endpoint. */
const creatorScopes = [read, update, remove, 'time-series:read', 'time-series:update']

/**
 * Who creates a resource holds every scope on it. A grant is written only where the caller does not hold these scopes on
 * the application or above already: a backend client that registers a million endpoints would own a million rows.
 */
export const needsGrant = (ctx: Ctx, { tenantId, applicationName }: { tenantId: string; applicationName: string }) =>
  !creatorScopes.every((scope) => holds(ctx.caller, scope, onApplication(tenantId, applicationName)))
