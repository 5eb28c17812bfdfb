/** Permissions on endpoints and versions. */
import { authorize, authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { applicationResource, type EndpointRef, endpointResource, type Register } from '../../register/contract.ts'
import { NoEndpoint, NoVersion } from '../errors.ts'

export interface AccessDeps {
  register: Pick<Register, 'find'>
  applications: Pick<Applications, 'findVersion'>
}

/** An endpoint, and a version of its application that the request names. */
export interface EndpointInVersion {
  endpoint: EndpointRef
  versionName: string
}

/** Returns the endpoint. Throws 404 if the endpoint does not exist or the caller may not read it, and 403 if the caller may read it but lacks `scope`. */
export async function permittedEndpoint(
  { register }: Pick<AccessDeps, 'register'>,
  ctx: Ctx,
  endpointId: string,
  scope: string,
): Promise<EndpointRef> {
  const notFound = () => NoEndpoint({ endpointId })
  const endpoint = await register.find(endpointId)
  if (!endpoint) throw notFound()
  authorizeOrNotFound(ctx, { read: 'endpoint:read', scope }, endpointResource(endpoint), notFound)
  return endpoint
}

/**
 * Returns the endpoint with a version of its application, which need not be its current version. Throws the errors of `permittedEndpoint`,
 * and 404 for a version of another application.
 */
export async function endpointInVersion(
  deps: AccessDeps,
  ctx: Ctx,
  { endpointId, appVersionName }: { endpointId: string; appVersionName: string },
  scope: string,
): Promise<EndpointInVersion> {
  const endpoint = await permittedEndpoint(deps, ctx, endpointId, scope)
  // Most requests name the current version, which is known to exist.
  if (appVersionName !== endpoint.versionName) {
    const version = await deps.applications.findVersion(appVersionName)
    if (!belongsToApplicationOf(version, endpoint)) throw NoVersion({ appVersionName })
  }
  return { endpoint, versionName: appVersionName }
}

/** Returns whether the version belongs to the application of the endpoint. */
export const belongsToApplicationOf = (version: ApplicationVersionRef | undefined, endpoint: EndpointRef) =>
  version?.tenantId === endpoint.tenantId && version.applicationName === endpoint.applicationName

/** Returns the version. Without `scope`, throws 403 if the caller holds one of the scopes in `reads`, and 404 if it holds none of them. */
export async function permittedVersion(
  { applications }: Pick<AccessDeps, 'applications'>,
  ctx: Ctx,
  appVersionName: string,
  scope: string,
  reads: string[] = ['application:read'],
): Promise<ApplicationVersionRef> {
  const notFound = () => NoVersion({ appVersionName })
  const version = await applications.findVersion(appVersionName)
  if (!version) throw notFound()
  const application = onResource(version.tenantId, applicationResource(version.applicationName))
  if (![scope, ...reads].some((held) => holds(ctx.caller, held, application))) throw notFound()
  authorize(ctx, scope, application)
  return version
}
