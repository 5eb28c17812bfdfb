/** Decides which events of a topic a caller gets. This depends on the filters of the subscription and the permissions of the caller. */
import { authorize, type Ctx } from '../../kernel/contract.ts'
import { Forbidden, invalidField } from '../../kernel/errors.ts'
import type { FacetName, Interest, LiveEvent, TopicDefinition } from '../../kernel/live/live.ts'
import { holds, holdsSomewhere, onPlatform, onResource, onTenant, visibleResources } from '../../kernel/permissions.ts'
import type { Applications } from '../applications/contract.ts'
import { applicationResource, endpointResource, endpointResourceName, type Register } from '../register/contract.ts'
import { NoApplication, NoEndpoint } from './errors.ts'
import type { SubscriptionRequest } from './schemas.ts'

export interface Admission {
  tenantIds: readonly string[]
  interests: Interest[]
  facets: ReadonlyMap<string, ReadonlySet<string>>
  /** Returns whether the subscription includes the event and its caller may read it. */
  includes(event: LiveEvent): boolean
}

export interface AdmissionDeps {
  applications: Pick<Applications, 'exists'>
  register: Pick<Register, 'findAll'>
}

const cachedPermissionsMax = 10_000

const facetNames: readonly FacetName[] = [
  'versionNames',
  'directions',
  'extensions',
  'seriesNames',
  'reasons',
  'severities',
  'alertTypes',
  'jobIds',
  'by',
]

const hasApplications = ({ on, hasApplications = on === 'endpoint' }: TopicDefinition) => hasApplications
const hasEndpoints = ({ on, hasEndpoints = on === 'endpoint' }: TopicDefinition) => hasEndpoints

/** Returns the filters of a topic. */
export const filtersOf = (topic: TopicDefinition): string[] => [
  ...(hasApplications(topic) ? ['applicationName'] : []),
  ...(hasEndpoints(topic) ? ['endpointIds'] : []),
  ...topic.facets,
  ...(topic.history ? ['since'] : []),
]

/** Throws 400 for filters that the topic does not have, for required filters that are missing, and for ids that occur twice. */
export function checkSubscriptions(topics: ReadonlyMap<string, TopicDefinition>, requests: SubscriptionRequest[]) {
  const ids = new Set<string>()
  for (const [index, request] of requests.entries()) {
    const path = `subscriptions.${index}`
    if (ids.has(request.id)) throw invalidField(`${path}.id`, 'another subscription has the same id')
    ids.add(request.id)
    const topic = topics.get(request.topic)!
    const known = new Set(['id', 'topic', ...filtersOf(topic), ...(topic.value ? [] : ['newestOnly'])])
    for (const name of Object.keys(request))
      if (!known.has(name)) throw invalidField(`${path}.${name}`, `the topic ${topic.name} has no such filter`)
    if (topic.needsApplication && request.applicationName === undefined)
      throw invalidField(`${path}.applicationName`, `the topic ${topic.name} needs it`)
  }
}

/**
 * Checks the permissions for a subscription and returns which events it gets. Throws 403 if the caller lacks a permission, and 404 for an
 * application or endpoint that is missing or not visible.
 */
export async function admit(
  deps: AdmissionDeps,
  ctx: Ctx,
  topic: TopicDefinition,
  request: SubscriptionRequest,
): Promise<Admission> {
  if (topic.on === 'tenant') for (const scope of topic.scopes) authorize(ctx, scope, onTenant(ctx.tenantId))
  if (topic.on === 'endpoint') await checkEndpoints(deps, ctx, topic, request)
  const { caller, tenantId } = ctx
  const seesWithoutTenant = topic.withoutTenant && topic.scopes.every((scope) => holds(caller, scope, onPlatform))
  const tenantIds = seesWithoutTenant ? [tenantId, ''] : [tenantId]
  const facets = new Map(
    facetNames.flatMap((name) => {
      const values = request[name] as string[] | undefined
      return values ? [[name as string, new Set(values)] as const] : []
    }),
  )
  return {
    tenantIds,
    facets,
    interests: interestsOf(request, tenantIds),
    includes: includesOf(ctx, topic, request, facets),
  }
}

function interestsOf({ topic, applicationName, endpointIds }: SubscriptionRequest, tenantIds: string[]): Interest[] {
  return tenantIds.flatMap((tenantId): Interest[] => {
    if (endpointIds) return [...new Set(endpointIds)].map((name) => ({ topic, tenantId, kind: 'endpoint', name }))
    if (applicationName !== undefined) return [{ topic, tenantId, kind: 'application', name: applicationName }]
    return [{ topic, tenantId, kind: 'tenant', name: '' }]
  })
}

function includesOf(
  ctx: Ctx,
  { on, scopes, mayRead, value }: TopicDefinition,
  { applicationName, endpointIds }: SubscriptionRequest,
  facets: Admission['facets'],
): Admission['includes'] {
  if (value) return () => true
  const { caller } = ctx
  const requested = endpointIds && new Set(endpointIds)
  /**
   * Cached permissions by application, then by endpoint. There are two levels, because the cache is read for every event, and joining two
   * texts to one key takes longer.
   */
  const readable = new Map<string, Map<string, boolean>>()
  let cachedPermissions = 0
  const resourceOf = ({ tenantId, applicationName: name, endpointId }: LiveEvent) => {
    if (endpointId === undefined) return onTenant(tenantId)
    if (name === undefined) return onResource(tenantId, endpointResourceName(endpointId))
    return endpointResource({ tenantId, applicationName: name, endpointId })
  }
  function isReadable(event: LiveEvent): boolean {
    const { applicationName: name = '', endpointId = '' } = event
    let known = readable.get(name)?.get(endpointId)
    if (known === undefined) {
      const resource = resourceOf(event)
      known = scopes.every((scope) => holds(caller, scope, resource))
      if (cachedPermissions >= cachedPermissionsMax) {
        readable.clear()
        cachedPermissions = 0
      }
      cachedPermissions++
      const ofApplication = readable.get(name) ?? new Map<string, boolean>()
      readable.set(name, ofApplication.set(endpointId, known))
    }
    return known
  }
  return (event) => {
    if (applicationName !== undefined && event.applicationName !== applicationName) return false
    if (requested && !requested.has(event.endpointId ?? '')) return false
    for (const [name, values] of facets) if (!values.has(event.facets?.[name] ?? '')) return false
    if (on === 'event') return mayRead!(ctx, event)
    return on === 'tenant' || isReadable(event)
  }
}

async function checkEndpoints(deps: AdmissionDeps, ctx: Ctx, topic: TopicDefinition, request: SubscriptionRequest) {
  const { applicationName, endpointIds } = request
  if (endpointIds) return await checkNamedEndpoints(deps, ctx, topic, { applicationName, endpointIds })
  if (applicationName !== undefined) return await checkApplication(deps, ctx, topic, applicationName)
  for (const scope of topic.scopes)
    if (!holdsSomewhere(ctx.caller, scope)) throw Forbidden({ scope, resource: 'tenant-system' })
}

async function checkNamedEndpoints(
  { register }: AdmissionDeps,
  { caller, tenantId }: Ctx,
  { scopes }: TopicDefinition,
  { applicationName, endpointIds }: { applicationName: string | undefined; endpointIds: string[] },
) {
  const found = await register.findAll([...new Set(endpointIds)])
  for (const endpointId of endpointIds) {
    const endpoint = found.get(endpointId)
    if (endpoint?.tenantId !== tenantId || (applicationName ?? endpoint.applicationName) !== endpoint.applicationName)
      throw NoEndpoint({ endpointId })
    const resource = endpointResource(endpoint)
    const missing = scopes.find((scope) => !holds(caller, scope, resource))
    if (missing === undefined) continue
    if (!holds(caller, 'endpoint:read', resource)) throw NoEndpoint({ endpointId })
    throw Forbidden({ scope: missing, resource: endpointResourceName(endpointId) })
  }
}

/**
 * Checks an application. Without the scopes on the application, the caller needs the scopes on at least one endpoint of the application.
 */
async function checkApplication(
  { applications, register }: AdmissionDeps,
  ctx: Ctx,
  { scopes }: TopicDefinition,
  applicationName: string,
) {
  const { caller, tenantId } = ctx
  if (!(await applications.exists(ctx, { name: applicationName }))) throw NoApplication({ applicationName })
  const application = onResource(tenantId, applicationResource(applicationName))
  const missing = scopes.find((scope) => !holds(caller, scope, application))
  if (missing === undefined) return
  const granted = visibleResources(caller, missing, tenantId, 'endpoint-')
  const endpoints = granted === 'all' || granted.length === 0 ? [] : [...(await register.findAll(granted)).values()]
  const readable = endpoints.some(
    (endpoint) =>
      endpoint.tenantId === tenantId &&
      endpoint.applicationName === applicationName &&
      scopes.every((scope) => holds(caller, scope, endpointResource(endpoint))),
  )
  if (readable) return
  if (['application:read', 'endpoint:read', ...scopes].some((scope) => holds(caller, scope, application)))
    throw Forbidden({ scope: missing, resource: applicationResource(applicationName) })
  throw NoApplication({ applicationName })
}
