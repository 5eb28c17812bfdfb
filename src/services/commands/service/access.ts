/** Checks permissions on endpoints and applications. If the caller lacks a permission, the response is 404 (document 3). */
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Bus } from '../../../kernel/bus.ts'
import { createCache } from '../../../kernel/cache.ts'
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { ApplicationDeleted } from '../../applications/events.ts'
import { applicationResource, type EndpointRef, endpointResource, type Register } from '../../register/contract.ts'
import { EndpointUnregistered, VersionUpdated } from '../../register/events.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import { NoApplication } from '../errors.ts'

export const readScope = 'endpoint:read'
export const updateScope = 'endpoint:update'
export const applicationScope = 'application:endpoint-command:read'

const lookupsPerStatement = 500
/** Maximum number of cached endpoints. An entry takes about 300 bytes. */
const knownMax = 20_000

export const mayUse = (caller: Caller, endpoint: EndpointRef, scope: string) =>
  holds(caller, scope, endpointResource(endpoint))

/**
 * Returns a function that finds endpoints. It caches them until they change their version or are unregistered. Simultaneous calls share a
 * query.
 */
export function createEndpointLookup(
  register: Pick<Register, 'findAll'>,
  bus: Pick<Bus, 'subscribe' | 'onReset'>,
): FindEndpoint {
  const lookup = createBatcher<string, EndpointRef>(async (endpointIds) => {
    const found = await register.findAll([...new Set(endpointIds)])
    return endpointIds.map((endpointId) => found.get(endpointId))
  }, lookupsPerStatement)
  const known = createCache<EndpointRef>({ max: knownMax, groupOf: ({ tenantId }) => tenantId, bus })
  known.dropOn(EndpointUnregistered, ({ endpointIds }) => endpointIds)
  known.dropOn(VersionUpdated, ({ endpointId }) => endpointId)
  bus.subscribe(ApplicationDeleted, ({ tenantId, applicationName }) =>
    known.dropGroup(tenantId, (endpoint) => endpoint.applicationName === applicationName),
  )
  bus.subscribe(TenantDeleted, ({ tenantId }) => known.dropGroup(tenantId))
  return async (endpointId) => known.get(endpointId) ?? (await known.read(endpointId, () => lookup(endpointId)))
}

export type FindEndpoint = (endpointId: string) => Promise<EndpointRef | undefined>

/** Returns the endpoint if the caller holds the scope on it; otherwise throws `missing()`. */
export async function permitted(
  find: FindEndpoint,
  ctx: Ctx,
  endpointId: string,
  scope: string,
  missing: () => Error,
): Promise<EndpointRef> {
  const endpoint = await find(endpointId)
  if (!endpoint || !mayUse(ctx.caller, endpoint, scope)) throw missing()
  return endpoint
}

export async function mayReadApplication(
  applications: Pick<Applications, 'exists'>,
  ctx: Ctx,
  appName: string,
): Promise<boolean> {
  const isPermitted = holds(ctx.caller, applicationScope, onResource(ctx.tenantId, applicationResource(appName)))
  return isPermitted && (await applications.exists(ctx, { name: appName }))
}

/** Throws 404 unless the caller may read the commands of the application. */
export async function requireApplication(applications: Pick<Applications, 'exists'>, ctx: Ctx, appName: string) {
  if (!(await mayReadApplication(applications, ctx, appName))) throw NoApplication({ appName })
}
