/** Points that people write: whose they may be, and what is wrong with them. */
import { authorize, authorizeOn, type Ctx } from '../../../kernel/contract.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource, type EndpointRef, endpointResource, type Register } from '../../register/contract.ts'
import type { NewPoint, TimeSeries, Value } from '../contract.ts'
import { NoEndpoint, NoVersion, OfOtherVersion, PointRefused } from '../errors.ts'
import { timeOfText } from '../times.ts'

export interface PointsRequest {
  /** `body`: endpoint id → series → points. All of them or none. */
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
      const found = endpointIds.length > 0 ? await register.findAll(endpointIds) : new Map<string, EndpointRef>()
      const application = onResource(ctx.tenantId, applicationResource(version.applicationName))
      const may = (endpoint: EndpointRef) =>
        [read, ...scopes].some((scope) => holds(ctx.caller, scope, endpointResource(endpoint)))
      const isVisible =
        ['application:read', read, ...scopes].some((scope) => holds(ctx.caller, scope, application)) ||
        [...found.values()].some((endpoint) => endpoint.versionName === appVersionName && may(endpoint))
      if (!isVisible) throw NoVersion({ appVersionName })
      for (const endpointId of endpointIds) {
        const endpoint = found.get(endpointId)
        const missing = () => NoEndpoint({ endpointId })
        if (!endpoint) throw missing()
        for (const scope of scopes) authorizeOn(ctx, { read, scope }, endpointResource(endpoint), missing)
        const { versionName } = endpoint
        if (versionName !== appVersionName) throw OfOtherVersion({ endpointId, versionName, appVersionName })
      }
      // Who may write to no endpoint of it learns so even without naming one.
      if (endpointIds.length === 0) for (const scope of scopes) authorize(ctx, scope, application)
      const points = pointsOf(body)
      if (points.length > 0) await putPoints(version, points)
    },
  }
}

/** The values themselves are looked at where they are stored. */
function pointsOf(body: Record<string, unknown>): NewPoint[] {
  const points: NewPoint[] = []
  for (const [endpointId, series] of Object.entries(body)) {
    if (!isObject(series)) throw wrong(endpointId, 'expected an object with a list of points for each series')
    for (const [seriesName, list] of Object.entries(series)) {
      const place = `${endpointId}.${seriesName}`
      if (!Array.isArray(list)) throw wrong(place, 'expected a list of points')
      for (const [index, point] of list.entries())
        points.push({ endpointId, seriesName, ...pointOf(point, `${place}[${index}]`) })
    }
  }
  return points
}

function pointOf(point: unknown, place: string): Pick<NewPoint, 'timestamp' | 'values' | 'place'> {
  if (!isObject(point)) throw wrong(place, 'expected an object with timestamp and values')
  const { timestamp: given, values } = point
  const timestamp = typeof given === 'string' ? timeOfText(given) : given
  if (typeof timestamp !== 'number') throw wrong(`${place}.timestamp`, 'expected ISO 8601 or milliseconds since 1970')
  if (!isObject(values)) throw wrong(`${place}.values`, 'expected an object of values by their names')
  return { timestamp, values: values as Record<string, Value>, place }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const wrong = (point: string, problem: string) => PointRefused({ point, problem }, { fields: { [point]: [problem] } })
