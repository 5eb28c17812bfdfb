/** Finds the endpoints and series of an application that a caller may read (document 4, section 2). */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db } from '../../../kernel/db.ts'
import { Forbidden, invalidField } from '../../../kernel/errors.ts'
import { holds, onResource, visibleResources } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource, endpointResource, type Register } from '../../register/contract.ts'
import { NoApplication } from '../errors.ts'
import * as store from '../store/numbers.ts'
import type { SelectedSeries } from './selected-series.ts'

export const readScopes = ['endpoint:read', 'time-series:read']

export interface SeriesFilter {
  applicationName: string
  endpointIds: string[] | undefined
  seriesNames: string[] | undefined
}

export interface SelectedData {
  /** Endpoints that have points, in pages. Endpoints that do not exist or are not visible are left out. */
  endpoints: AsyncIterable<store.NumberedEndpoint[]>
  /** Series that have points. */
  series: SelectedSeries[]
}

export interface VisibleSeries {
  /** Returns the endpoints that the caller may read; undefined means all. Throws if the caller may read no endpoint. */
  readableEndpoints(ctx: Ctx, applicationName: string): Promise<Set<string> | undefined>
  select(ctx: Ctx, requested: SeriesFilter): Promise<SelectedData>
  /** Selects only the next endpoints after an id. `next` is the id after which to continue; it is undefined on the last page. */
  selectAfter(
    ctx: Ctx,
    requested: SeriesFilter,
    page: { after: string; limit: number },
  ): Promise<{ selected: SelectedData; next: string | undefined }>
}

interface Deps {
  db: Db
  applications: Applications
  register: Register
}

const pageSize = 1000
export const endpointsMax = 10_000

export function createVisibleSeries(deps: Deps): VisibleSeries {
  return {
    readableEndpoints: (ctx, applicationName) => readableEndpoints(deps, ctx, applicationName),
    async select(ctx, requested) {
      const { application, selectedIds, series } = await selectSeries(deps, ctx, requested)
      return { endpoints: pagesOf(deps.db, application, selectedIds), series }
    },
    async selectAfter(ctx, requested, { after, limit }) {
      const { application, selectedIds, series } = await selectSeries(deps, ctx, requested)
      const ids = selectedIds?.filter((endpointId) => endpointId > after).slice(0, limit)
      const page = ids
        ? await store.findEndpointsByIds(deps.db.sql, { ...application, endpointIds: ids })
        : await store.findEndpointsOf(deps.db.sql, { ...application, after, limit })
      const isLast = (ids ?? page).length < limit
      const next = isLast ? undefined : (ids?.at(-1) ?? page.at(-1)!.endpointId)
      return { selected: { endpoints: onePage(page), series }, next }
    },
  }
}

async function* onePage(page: store.NumberedEndpoint[]) {
  if (page.length > 0) yield page
}

async function selectSeries(deps: Deps, ctx: Ctx, { applicationName, endpointIds, seriesNames }: SeriesFilter) {
  if (endpointIds && endpointIds.length > endpointsMax)
    throw invalidField('endpointId', `expected at most ${endpointsMax} of them`)
  const readable = await readableEndpoints(deps, ctx, applicationName)
  const requested = endpointIds && [...new Set(endpointIds)].sort()
  const selectedIds = readable
    ? (requested ?? [...readable].sort()).filter((endpointId) => readable.has(endpointId))
    : requested
  const application = { tenantId: ctx.tenantId, applicationName }
  const series = await store.findSeriesByName(deps.db.sql, { ...application, names: seriesNames })
  return { application, selectedIds, series: byName(series) }
}

async function readableEndpoints({ applications, register }: Deps, ctx: Ctx, applicationName: string) {
  const { tenantId, caller } = ctx
  if (!(await applications.exists(ctx, { name: applicationName }))) throw NoApplication({ applicationName })
  const application = onResource(tenantId, applicationResource(applicationName))
  const missingScopes = readScopes.filter((scope) => !holds(caller, scope, application))
  const [first] = missingScopes
  if (first === undefined) return undefined
  // If the caller does not hold a scope on the application, it can read only endpoints on which it holds the scope.
  const granted = visibleResources(caller, first, tenantId, 'endpoint-') as string[]
  const grantedEndpoints = granted.length > 0 ? [...(await register.findAll(granted)).values()] : []
  const readable = grantedEndpoints.filter(
    (endpoint) =>
      endpoint.tenantId === tenantId &&
      endpoint.applicationName === applicationName &&
      missingScopes.every((scope) => holds(caller, scope, endpointResource(endpoint))),
  )
  if (readable.length > 0) return new Set(readable.map(({ endpointId }) => endpointId))
  if (['application:read', ...readScopes].some((scope) => holds(caller, scope, application)))
    throw Forbidden({ scope: first, resource: applicationResource(applicationName) })
  throw NoApplication({ applicationName })
}

async function* pagesOf(
  db: Db,
  application: { tenantId: string; applicationName: string },
  endpointIds: string[] | undefined,
) {
  if (endpointIds)
    for (let from = 0; from < endpointIds.length; from += pageSize) {
      const ids = endpointIds.slice(from, from + pageSize)
      yield await store.findEndpointsByIds(db.sql, { ...application, endpointIds: ids })
    }
  else
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page = await store.findEndpointsOf(db.sql, { ...application, after, limit: pageSize })
      if (page.length > 0) yield page
      after = page.length < pageSize ? undefined : page.at(-1)!.endpointId
    }
}

const byName = (series: store.Series[]): SelectedSeries[] =>
  [...Map.groupBy(series, ({ name }) => name)].map(([name, values]) => ({
    name,
    values: values.map(({ seriesId, valueName }) => ({ seriesId, name: valueName })),
  }))
