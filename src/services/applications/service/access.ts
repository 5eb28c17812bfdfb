/** Who may see and do what with an application (document 4, section 2). */
import type { Identity } from '../../../identity/contract.ts'
import { authorize, authorizeOn, type Ctx, tenantOf } from '../../../kernel/contract.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { holds, onPlatform, onResource, visible } from '../../../kernel/permissions.ts'
import { NoApplication } from '../errors.ts'

const read = 'application:read'
const readAnywhere = 'platform:application:read'

const prefix = 'application-'
export const resourceName = (applicationName: string) => prefix + applicationName

const readsEverywhere = ({ caller }: Ctx) => holds(caller, readAnywhere, onPlatform) || holds(caller, read, onPlatform)

/** The tenant whose applications are asked for: another one than the caller's needs a permission on the platform. */
export const tenantToRead = (ctx: Ctx, requested: string | undefined) =>
  requested !== undefined && readsEverywhere(ctx) ? requested : tenantOf(ctx, requested, readAnywhere)

/** A tenant that a parameter names must be there; the caller's own is. */
export async function requireTenant(ctx: Ctx, tenantId: string, identity: Identity) {
  if (tenantId !== ctx.tenantId && !(await identity.realm(tenantId)))
    throw invalidField('tenantId', `there is no tenant ${tenantId}`)
}

/** What a list may show: undefined is everything of the tenant. */
export function readableNames(ctx: Ctx, tenantId: string): string[] | undefined {
  if (readsEverywhere(ctx)) return undefined
  const names = visible(ctx.caller, read, tenantId, prefix)
  return names === 'all' ? undefined : names
}

interface Owned {
  name: string
  tenantId: string
}

/**
 * The application, if the caller may do this with it. An application of another tenant, one that the caller may not
 * read and one that does not exist are the same 404; readable, but without the scope: 403.
 */
export function permitted<A extends Owned>(ctx: Ctx, name: string, found: A | undefined, scope = read): A {
  const missing = () => NoApplication({ name })
  if (!found) throw missing()
  const resource = onResource(found.tenantId, resourceName(found.name))
  if (!readsEverywhere(ctx)) authorizeOn(ctx, { read, scope }, resource, missing)
  else if (scope !== read) authorize(ctx, scope, resource)
  return found
}
