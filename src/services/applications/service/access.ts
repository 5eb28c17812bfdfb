/** Permissions on applications (document 4, section 2). */
import type { Identity } from '../../../identity/contract.ts'
import { authorize, authorizeOrNotFound, type Ctx, requireTenantAccess } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { holds, onPlatform, onResource, visibleResources } from '../../../kernel/permissions.ts'
import { NoApplication } from '../errors.ts'

const read = 'application:read'
const readOnPlatform = 'platform:application:read'

const prefix = 'application-'
export const resourceName = (applicationName: string) => prefix + applicationName

const mayReadAllTenants = ({ caller }: Ctx) =>
  holds(caller, readOnPlatform, onPlatform) || holds(caller, read, onPlatform)

/** Returns the requested tenant. Default: the tenant of the caller. A tenant other than the caller's requires a permission on the platform. */
export const tenantToRead = (ctx: Ctx, requested: string | undefined) =>
  requested !== undefined && mayReadAllTenants(ctx) ? requested : requireTenantAccess(ctx, requested, readOnPlatform)

/** Throws 400 if the requested tenant does not exist. */
export async function requireTenant(ctx: Ctx, tenantId: string, identity: Identity) {
  if (tenantId !== ctx.tenantId && !(await identity.realm(tenantId)))
    throw invalidField('tenantId', `there is no tenant ${tenantId}`)
}

/** Returns the names of the applications that the caller may read; undefined means all applications of the tenant. */
export function readableNames(ctx: Ctx, tenantId: string): string[] | undefined {
  if (mayReadAllTenants(ctx)) return undefined
  const names = visibleResources(ctx.caller, read, tenantId, prefix)
  return names === 'all' ? undefined : names
}

interface TenantApplication {
  name: string
  tenantId: string
}

/**
 * Returns the application. Throws 404 if it does not exist or the caller may not read it, for example because it belongs to another tenant.
 * Throws 403 if the caller may read it but lacks the scope.
 */
export function requireApplication<A extends TenantApplication>(
  ctx: Ctx,
  name: string,
  found: A | undefined,
  scope = read,
): A {
  const notFound = () => NoApplication({ name })
  if (!found) throw notFound()
  const resource = onResource(found.tenantId, resourceName(found.name))
  if (!mayReadAllTenants(ctx)) authorizeOrNotFound(ctx, { read, scope }, resource, notFound)
  else if (scope !== read) authorize(ctx, scope, resource)
  return found
}
