/** Resolves an index name to the documents that the caller may read (document 5, 7.2 and 7.5). */
import { authorize, authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import { holds, onResource, onTenant, visibleResources } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { NoIndex } from '../errors.ts'
import { type DateRange, parseIndex } from '../index-names.ts'

export const readScope = 'application:read'
export const updateScope = 'application:update'
export const deleteScope = 'application:delete'
export const readEndpointsScope = 'endpoint:read'

const applicationPrefix = 'application-'
const endpointPrefix = 'endpoint-'
const onApplication = (tenantId: string, name: string) => onResource(tenantId, applicationPrefix + name)

/** The application of an index, and the dates that the index name selects. */
export interface IndexOf {
  applicationName: string
  dates?: DateRange
}

/**
 * Returns the application of an index name. Throws 404 if the application does not exist or the caller may not read it, and 403 if the
 * caller may read the application but lacks the scope.
 */
export async function requireIndex(
  applications: Pick<Applications, 'exists'>,
  ctx: Ctx,
  index: string,
  scope: string,
): Promise<IndexOf> {
  const parsed = parseIndex(index, ctx.tenantId)
  const notFound = () => NoIndex({ index })
  if (!parsed || !('candidates' in parsed)) throw notFound()
  for (const candidate of parsed.candidates) {
    if (!(await applications.exists(ctx, { name: candidate.applicationName }))) continue
    const resource = onApplication(ctx.tenantId, candidate.applicationName)
    authorizeOrNotFound(ctx, { read: readScope, scope }, resource, notFound)
    return candidate
  }
  throw notFound()
}

/** The documents that a search selects. */
export type Target =
  | { statistics: true; dates?: DateRange | undefined }
  | {
      /** Names of applications, or all applications of the tenant. */
      applications: string[] | 'all'
      dates?: DateRange | undefined
    }

export async function searchTarget(
  applications: Pick<Applications, 'exists'>,
  ctx: Ctx,
  index: string,
): Promise<Target> {
  const parsed = parseIndex(index, ctx.tenantId)
  if (!parsed) throw NoIndex({ index })
  if ('statistics' in parsed) {
    authorize(ctx, readEndpointsScope, onTenant(ctx.tenantId))
    return parsed
  }
  if ('all' in parsed) return { applications: visibleResources(ctx.caller, readScope, ctx.tenantId, applicationPrefix) }
  const { applicationName, dates } = await requireIndex(applications, ctx, index, readScope)
  return { applications: [applicationName], ...(dates && { dates }) }
}

/**
 * Splits applications by the caller's permissions: applications of which the caller may read all documents, and applications of which the
 * caller may read only documents of some endpoints.
 */
export function visibleDocuments({ caller, tenantId }: Ctx, applicationNames: string[]) {
  const mayReadAll = (name: string) => holds(caller, readEndpointsScope, onApplication(tenantId, name))
  const endpointIds = visibleResources(caller, readEndpointsScope, tenantId, endpointPrefix)
  return {
    whole: applicationNames.filter(mayReadAll),
    partly: applicationNames.filter((name) => !mayReadAll(name)),
    endpointIds: endpointIds === 'all' ? [] : [...new Set(endpointIds)],
  }
}
