/** Returns the progress of rollouts, the endpoints to which a version would be offered, and the software of endpoints. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Window } from '../../../kernel/paging.ts'
import { NoApplicationWithSoftware, NoSoftware, NoSoftwareEndpoint } from '../errors.ts'
import { warningsOf } from '../graph.ts'
import { type Plan, planWith, type RolloutState, type RolloutStrategy } from '../plan.ts'
import { findAttempts } from '../store/endpoints.ts'
import * as store from '../store/targets.ts'
import { type ApplicationKey, findVersion } from '../store/versions.ts'
import { accessible, type Deps, readScope } from './deps.ts'
import type { Target } from './versions.ts'

export interface Rollout {
  rolloutState: RolloutState
  reason?: string
  counts: store.Counts
  warnings: string[]
}

export interface Preview {
  endpointsCount: number
  byCurrentVersion: Record<string, number>
  sample: string[]
}

export interface EndpointQuery {
  endpointIds?: string[] | undefined
  version?: string | undefined
  targetVersion?: string | undefined
  failedVersion?: string | undefined
  state?: string | undefined
}

export type EndpointView = ReturnType<typeof viewOf>

export interface RolloutRules {
  rollout(ctx: Ctx, target: Target): Promise<Rollout>
  preview(ctx: Ctx, target: Target, strategy: RolloutStrategy | undefined): Promise<Preview>
  /** Returns a list of endpoints. A long list is a stream. */
  list(
    ctx: Ctx,
    appName: string,
    query: EndpointQuery,
    window: Window,
  ): Promise<{ total: number; endpoints: EndpointView[] | AsyncIterable<EndpointView> }>
  endpoint(ctx: Ctx, query: { appName: string; endpointId: string }): Promise<EndpointView & { attempts: object[] }>
}

const sampleMax = 100
const pageMax = 1000

export const createRolloutRules = (deps: Deps): RolloutRules => ({
  rollout: (ctx, target) => rollout(deps, ctx, target),
  preview: (ctx, target, strategy) => preview(deps, ctx, target, strategy),
  list: (ctx, appName, query, window) => list(deps, ctx, appName, query, window),
  endpoint: (ctx, query) => endpoint(deps, ctx, query),
})

async function findTarget(deps: Deps, ctx: Ctx, target: Target) {
  const notFound = () => NoSoftware({ ...target })
  const { appName, softwareVersion: version } = target
  const application = await accessible(deps, ctx, { appName, scope: readScope }, notFound)
  const { sql } = deps.kit.db
  const row = await findVersion(sql, { ...application, version })
  if (!row) throw notFound()
  return { application, row, plan: await deps.plans.read(sql, application), at: deps.kit.now().getTime(), sql }
}

async function rollout(deps: Deps, ctx: Ctx, target: Target): Promise<Rollout> {
  const { application, row, plan, at, sql } = await findTarget(deps, ctx, target)
  // Endpoints that wait for a paused rollout are counted as waiting.
  const active = planWith(plan, row.number, { state: 'active' })
  return {
    rolloutState: row.rolloutState,
    ...(row.reason !== null && { reason: row.reason }),
    counts: await store.countRollout(sql, application, { plan: active, at }, row.number),
    warnings: warningsOf(plan)(row.number),
  }
}

async function preview(deps: Deps, ctx: Ctx, target: Target, strategy: RolloutStrategy | undefined): Promise<Preview> {
  const { application, row, plan, at, sql } = await findTarget(deps, ctx, target)
  const changed = planWith(plan, row.number, { state: 'active', strategy: strategy ?? row.rolloutStrategy })
  const [groups, sample] = await Promise.all([
    store.countTargets(sql, application, { plan: changed, at }, row.number),
    store.findTargets(sql, application, { plan: changed, at }, row.number, sampleMax),
  ])
  const counts = groups.flatMap(({ current, count }): [string, number][] => {
    const version = plan.byNumber.get(current)
    return version ? [[version.version, count]] : []
  })
  return {
    endpointsCount: groups.reduce((sum, { count }) => sum + count, 0),
    byCurrentVersion: Object.fromEntries(counts.sort(([one], [other]) => (one < other ? -1 : 1))),
    sample,
  }
}

const optional = <K extends string, V>(name: K, value: V | null | undefined) =>
  (value === null || value === undefined ? {} : { [name]: value }) as { [N in K]?: V }

function viewOf(plan: Plan, row: store.EndpointRow) {
  const nameOf = (number: number | null) => (number === null ? undefined : plan.byNumber.get(number)?.version)
  const offered = nameOf(row.offered)
  return {
    endpointId: row.endpointId,
    ...optional('currentVersion', nameOf(row.current)),
    ...optional('targetVersion', nameOf(row.target)),
    ...optional('lastAppliedStatusCode', row.statusCode),
    ...optional('reasonPhrase', row.reasonPhrase),
    updatedDate: row.updatedDate,
    state: row.state,
    ...optional('failedVersion', nameOf(row.failure)),
    ...optional('offeredVersion', offered),
    ...optional('offeredDate', offered === undefined ? undefined : row.offeredDate),
  }
}

/** Stands for a version name that does not exist. No endpoint has this number, so the query finds no endpoints. */
const noNumber = -1

function selectionOf(plan: Plan, query: EndpointQuery): store.EndpointSelection {
  const { endpointIds, version, targetVersion, failedVersion, state } = query
  const numberOf = (name: string | undefined) =>
    name === undefined ? undefined : (plan.byName.get(name)?.number ?? noNumber)
  return {
    endpointIds,
    current: numberOf(version),
    target: numberOf(targetVersion),
    failure: numberOf(failedVersion),
    state,
  }
}

async function list(deps: Deps, ctx: Ctx, appName: string, query: EndpointQuery, { offset, limit }: Window) {
  const application = await accessible(deps, ctx, { appName, scope: readScope }, () =>
    NoApplicationWithSoftware({ appName }),
  )
  const { sql } = deps.kit.db
  const plan = await deps.plans.read(sql, application)
  const targets = { plan, at: deps.kit.now().getTime() }
  const selection = selectionOf(plan, query)
  const first = Math.min(pageMax, limit ?? pageMax)
  const [total, rows] = await Promise.all([
    store.countEndpoints(sql, application, targets, selection),
    store.findEndpoints(sql, application, targets, { ...selection, offset, limit: first }),
  ])
  const isAll = rows.length < pageMax || (limit !== null && limit <= pageMax)
  if (isAll) return { total, endpoints: rows.map((row) => viewOf(plan, row)) }
  return { total, endpoints: walk(deps, application, targets, selection, rows, limit ?? Number.POSITIVE_INFINITY) }
}

/** Reads page by page, so that no connection is held while a slow client reads the response. */
async function* walk(
  { kit }: Deps,
  application: ApplicationKey,
  targets: store.TargetPlan,
  selection: store.EndpointSelection,
  first: store.EndpointRow[],
  count: number,
): AsyncGenerator<EndpointView> {
  let [page, left] = [first, count]
  while (page.length > 0) {
    for (const row of page) yield viewOf(targets.plan, row)
    left -= page.length
    if (left <= 0 || page.length < pageMax) return
    const after = page.at(-1)!.endpointId
    page = await store.findEndpoints(kit.db.sql, application, targets, {
      ...selection,
      after,
      limit: Math.min(pageMax, left),
    })
  }
}

async function endpoint(deps: Deps, ctx: Ctx, { appName, endpointId }: { appName: string; endpointId: string }) {
  const notFound = () => NoSoftwareEndpoint({ appName, endpointId })
  const application = await accessible(deps, ctx, { appName, scope: readScope }, notFound)
  const { sql } = deps.kit.db
  const plan = await deps.plans.read(sql, application)
  const targets = { plan, at: deps.kit.now().getTime() }
  const [row] = await store.findEndpoints(sql, application, targets, { endpointIds: [endpointId], limit: 1 })
  if (!row) throw notFound()
  const attempts = await findAttempts(sql, application.tenantId, endpointId)
  return {
    ...viewOf(plan, row),
    attempts: attempts.map(({ version, offeredDate, reportedDate, statusCode, reasonPhrase }) => ({
      version,
      offeredDate,
      ...optional('reportedDate', reportedDate),
      ...optional('statusCode', statusCode),
      ...optional('reasonPhrase', reasonPhrase),
    })),
  }
}
