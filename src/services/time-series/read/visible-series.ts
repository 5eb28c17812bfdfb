/** Which endpoints and series of an application a caller may read points of (document 4, section 2). */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db } from '../../../kernel/db.ts'
import { Forbidden, invalidField } from '../../../kernel/errors.ts'
import { holds, onResource, visible } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource, endpointResource, type Register } from '../../register/contract.ts'
import { NoApplication } from '../errors.ts'
import * as store from '../store/numbers.ts'
import type { AskedSeries } from './asked-series.ts'

export const readScopes = ['endpoint:read', 'time-series:read']

export interface Asked {
  applicationName: string
  endpointIds: string[] | undefined
  seriesNames: string[] | undefined
}

export interface Visible {
  /** Those that have points, page by page. One that does not exist or is not visible is like one without points. */
  endpoints: AsyncIterable<store.NumberedEndpoint[]>
  /** Those that have points. */
  series: AskedSeries[]
}

export interface VisibleSeries {
  /** The endpoints that the caller may read; undefined: all. Throws where the caller may read none. */
  readable(ctx: Ctx, applicationName: string): Promise<Set<string> | undefined>
  of(ctx: Ctx, asked: Asked): Promise<Visible>
}

interface Deps {
  db: Db
  applications: Applications
  register: Register
}

const endpointsAtOnce = 1000
export const endpointsMax = 10_000

export function createVisibleSeries(deps: Deps): VisibleSeries {
  return {
    readable: (ctx, applicationName) => readable(deps, ctx, applicationName),
    async of(ctx, { applicationName, endpointIds, seriesNames }) {
      if (endpointIds && endpointIds.length > endpointsMax)
        throw invalidField('endpointId', `expected at most ${endpointsMax} of them`)
      const mine = await readable(deps, ctx, applicationName)
      const asked = endpointIds && [...new Set(endpointIds)].sort()
      const some = mine ? (asked ?? [...mine].sort()).filter((endpointId) => mine.has(endpointId)) : asked
      const of = { tenantId: ctx.tenantId, applicationName }
      const series = await store.findSeriesNamed(deps.db.sql, { ...of, names: seriesNames })
      return { endpoints: pagesOf(deps.db, of, some), series: byName(series) }
    },
  }
}

async function readable({ applications, register }: Deps, ctx: Ctx, applicationName: string) {
  const { tenantId, caller } = ctx
  if (!(await applications.exists(ctx, { name: applicationName }))) throw NoApplication({ applicationName })
  const application = onResource(tenantId, applicationResource(applicationName))
  const lacking = readScopes.filter((scope) => !holds(caller, scope, application))
  const [first] = lacking
  if (first === undefined) return undefined
  // A scope that the caller does not hold on the application has to be held on each endpoint.
  const granted = visible(caller, first, tenantId, 'endpoint-') as string[]
  const known = granted.length > 0 ? [...(await register.findAll(granted)).values()] : []
  const own = known.filter(
    (endpoint) =>
      endpoint.tenantId === tenantId &&
      endpoint.applicationName === applicationName &&
      lacking.every((scope) => holds(caller, scope, endpointResource(endpoint))),
  )
  if (own.length > 0) return new Set(own.map(({ endpointId }) => endpointId))
  if (['application:read', ...readScopes].some((scope) => holds(caller, scope, application)))
    throw Forbidden({ scope: first, resource: applicationResource(applicationName) })
  throw NoApplication({ applicationName })
}

async function* pagesOf(db: Db, of: { tenantId: string; applicationName: string }, endpointIds: string[] | undefined) {
  if (endpointIds)
    for (let from = 0; from < endpointIds.length; from += endpointsAtOnce) {
      const some = endpointIds.slice(from, from + endpointsAtOnce)
      yield await store.findTheseEndpointsOf(db.sql, { ...of, endpointIds: some })
    }
  else
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await store.findEndpointsOf(db.sql, { ...of, after, limit: endpointsAtOnce })
      if (page.length > 0) yield page
      after = page.length < endpointsAtOnce ? undefined : page.at(-1)!.endpointId
    }
}

const byName = (series: store.Series[]): AskedSeries[] =>
  [...Map.groupBy(series, ({ name }) => name)].map(([name, values]) => ({
    name,
    values: values.map(({ seriesId, valueName }) => ({ seriesId, name: valueName })),
  }))
