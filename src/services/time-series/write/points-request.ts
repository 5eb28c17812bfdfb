/** Points that callers write: permissions and validation. */
import { authorize, authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import { timeOfText } from '../../../kernel/times.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource, type EndpointRef, endpointResource, type Register } from '../../register/contract.ts'
import type { NewPoint, TimeSeries, Value } from '../contract.ts'
import { NoEndpoint, NoVersion, OfOtherVersion, PointRejected } from '../errors.ts'

export interface PointsRequest {
  /** Stores all points or no point. `body` maps endpoint ids to series names, and series names to points. */
  put(ctx: Ctx, appVersionName: string, body: Record<string, unknown>): Promise<void>
}

const read = 'endpoint:read'
const scopes = ['endpoint:update', 'time-series:update']

export function createPointsRequest({
  applications,
  register,
  putPoints,
}: {
  applications: Applications
  register: Register
  putPoints: TimeSeries['putPoints']
}): PointsRequest {
  return {
    async put(ctx, appVersionName, body) {
      const version = await applications.findVersion(appVersionName)
      if (version?.tenantId !== ctx.tenantId) throw NoVersion({ appVersionName })
      const endpointIds = Object.keys(body)
      const endpoints = endpointIds.length > 0 ? await register.findAll(endpointIds) : new Map<string, EndpointRef>()
      const application = onResource(ctx.tenantId, applicationResource(version.applicationName))
      const hasAccess = (endpoint: EndpointRef) =>
        [read, ...scopes].some((scope) => holds(ctx.caller, scope, endpointResource(endpoint)))
      const isVisible =
        ['application:read', read, ...scopes].some((scope) => holds(ctx.caller, scope, application)) ||
        [...endpoints.values()].some((endpoint) => endpoint.versionName === appVersionName && hasAccess(endpoint))
      if (!isVisible) throw NoVersion({ appVersionName })
      for (const endpointId of endpointIds) {
        const endpoint = endpoints.get(endpointId)
        const notFound = () => NoEndpoint({ endpointId })
        if (!endpoint) throw notFound()
        for (const scope of scopes) authorizeOrNotFound(ctx, { read, scope }, endpointResource(endpoint), notFound)
        const { versionName } = endpoint
        if (versionName !== appVersionName) throw OfOtherVersion({ endpointId, versionName, appVersionName })
      }
      // A caller without permission gets an error even if the body contains no endpoint.
      if (endpointIds.length === 0) for (const scope of scopes) authorize(ctx, scope, application)
      const points = pointsOf(body)
      if (points.length > 0) await putPoints(version, points)
    },
  }
}

/** Parses the body; values are validated when they are stored. */
function pointsOf(body: Record<string, unknown>): NewPoint[] {
  const points: NewPoint[] = []
  for (const [endpointId, series] of Object.entries(body)) {
    if (!isObject(series)) throw invalid(endpointId, 'expected an object with a list of points for each series')
    for (const [seriesName, list] of Object.entries(series)) {
      const seriesPath = `${endpointId}.${seriesName}`
      if (!Array.isArray(list)) throw invalid(seriesPath, 'expected a list of points')
      for (const [index, point] of list.entries())
        points.push({ endpointId, seriesName, ...pointOf(point, `${seriesPath}.${index}`) })
    }
  }
  return points
}

function pointOf(point: unknown, requestPath: string): Pick<NewPoint, 'timestamp' | 'values' | 'requestPath'> {
  if (!isObject(point)) throw invalid(requestPath, 'expected an object with timestamp and values')
  const { timestamp: rawTimestamp, values } = point
  const timestamp = typeof rawTimestamp === 'string' ? timeOfText(rawTimestamp) : rawTimestamp
  if (typeof timestamp !== 'number')
    throw invalid(`${requestPath}.timestamp`, 'expected ISO 8601 or milliseconds since 1970')
  if (!isObject(values)) throw invalid(`${requestPath}.values`, 'expected an object of values by their names')
  return { timestamp, values: values as Record<string, Value>, requestPath }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const invalid = (point: string, problem: string) =>
  PointRejected({ point, problem }, { fields: { [point]: [problem] } })
