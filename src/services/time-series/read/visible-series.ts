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

export interface Sight {
  /** Those that have points, page after page. One that does not exist or is not visible is as one without points. */
  endpoints: AsyncIterable<store.NumberedEndpoint[]>
  /** Those that something was stored of. */
  series: AskedSeries[]
}

export interface Asked {
  applicationName: string
  endpointIds: string[] | undefined
  /** The name of the parameter, for a refusal. */
  seriesNames: string[] | undefined
}

const endpointsAtOnce = 1000
export const endpointsMax = 10_000

export function createSights(deps: { db: Db; applications: Applications; register: Register }) {
  const { db, applications, register } = deps

  /** Undefined: all of them. Who may read none is refused. */
  async function readable(ctx: Ctx, applicationName: string): Promise<Set<string> | undefined> {
    const { tenantId, caller } = ctx
    if (!(await applications.exists(ctx, { name: applicationName }))) throw NoApplication({ applicationName })
    const application = onResource(tenantId, applicationResource(applicationName))
    const lacking = readScopes.filter((scope) => !holds(caller, scope, application))
    const [first] = lacking
    if (first === undefined) return undefined
    // Where the application does not say so, each endpoint has to.
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

  async function* pages(of: { tenantId: string; applicationName: string }, endpointIds: string[] | undefined) {
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

  return {
    readable,
    async of(ctx: Ctx, { applicationName, endpointIds, seriesNames }: Asked): Promise<Sight> {
      if (endpointIds && endpointIds.length > endpointsMax)
        throw invalidField('endpointId', `expected at most ${endpointsMax} of them`)
      const mine = await readable(ctx, applicationName)
      const asked = endpointIds && [...new Set(endpointIds)].sort()
      const some = mine ? (asked ?? [...mine].sort()).filter((endpointId) => mine.has(endpointId)) : asked
      const of = { tenantId: ctx.tenantId, applicationName }
      const series = await store.findSeriesNamed(db.sql, { ...of, names: seriesNames })
      return { endpoints: pages(of, some), series: bySeries(series) }
    },
  }
}
export type Sights = ReturnType<typeof createSights>

const bySeries = (series: store.Series[]): AskedSeries[] =>
  [...Map.groupBy(series, ({ name }) => name)].map(([name, values]) => ({
    name,
    values: values.map(({ seriesId, valueName }) => ({ seriesId, name: valueName })),
  }))
