/** Points of the series of a widget: the stored points of its period, followed by points that arrive live. */
import { useGets } from '../../api/query.ts'
import type { Series } from '../../parts/chart.tsx'
import { numbersOf, type Point, type Points } from '../../parts/chart-series.ts'
import { grouped } from '../../parts/group.ts'
import { intervalOf, type Period } from '../../parts/periods.ts'
import type { Problem } from '../../parts/problem.ts'
import { msOf, timeZone, utcOf } from '../../parts/time.tsx'
import { type DashboardState, useDashboard } from './context.tsx'
import { labelOf, type SeriesReference } from './definition.ts'
import { keyOfSeries, useLivePoints } from './live-points.ts'
import { isMoving } from './references.ts'

/** A series whose endpoint and application are known. */
interface Found {
  reference: SeriesReference
  endpointId: string
  application: string
}

export interface Located {
  found: Found[]
  /** Endpoints that do not exist, or that the caller may not read. */
  missing: string[]
  /** Number of series whose endpoint is not chosen. */
  unchosen: number
  isLoading: boolean
}

export function located({ chosen, applicationOf }: DashboardState, series: readonly SeriesReference[]): Located {
  const result: Located = { found: [], missing: [], unchosen: 0, isLoading: false }
  for (const reference of series) {
    const endpointId = chosen('endpoint', reference.endpoint)
    if (endpointId === undefined) {
      result.unchosen++
      continue
    }
    const application = applicationOf(endpointId)
    if (application.kind === 'known') result.found.push({ reference, endpointId, application: application.name })
    else if (application.kind === 'loading') result.isLoading = true
    else if (!result.missing.includes(endpointId)) result.missing.push(endpointId)
  }
  return result
}

const pointsMax = 1_500
/**
 * Minimum interval at which raw points are read again. New points also arrive live, but only a new read reduces the points of the whole
 * period to `pointsMax`.
 */
const rawRefreshMs = 60_000

type Aggregate = 'none' | 'last' | 'avg' | 'min' | 'max' | 'sum' | 'count'

/** Groups the series by application. One request reads all series of an application. */
const groupsOf = (found: readonly Found[]) =>
  [...grouped(found, ({ application }) => application)].map(([applicationName, ofApplication]) => ({
    ...{ applicationName, ofApplication },
    endpointId: [...new Set(ofApplication.map(({ endpointId }) => endpointId))],
    timeSeriesName: [...new Set(ofApplication.map(({ reference }) => reference.timeSeries))],
  }))

/**
 * Returns the dates of the request. A period that ends now is requested by its length, so that the arguments stay the same while time
 * passes.
 */
const datesOf = (period: Period, isMovingPeriod: boolean) =>
  isMovingPeriod
    ? { fromDate: `now-${Math.round((period.to - period.from) / 1000)}s`, toDate: 'now' }
    : { fromDate: utcOf(period.from), toDate: utcOf(period.to) }

export const pointsIn = (points: Points | undefined, endpointId: string, timeSeries: string): readonly Point[] =>
  (Array.isArray(points) ? points : []).flatMap((byEndpoint) => byEndpoint?.[endpointId]?.[timeSeries] ?? [])

export interface SeriesResult {
  series: Series[]
  located: Located
  isLoading: boolean
  problem: Problem | undefined
  reload(): void
}

export interface SeriesOptions {
  aggregate: Aggregate
  time: string | undefined
  unit: string | undefined
  /** Maximum number of intervals of an aggregate. */
  intervals: number | undefined
}

export function useSeries(
  references: readonly SeriesReference[],
  { aggregate, time, unit, intervals }: SeriesOptions,
): SeriesResult {
  const dashboard = useDashboard()
  const place = located(dashboard, references)
  const groups = groupsOf(place.found)
  const period = dashboard.periodOf(time)
  const moves = isMoving(dashboard.timeOf(time))
  const isRaw = aggregate === 'none'
  const refreshMs = dashboard.refreshMs && (isRaw ? Math.max(rawRefreshMs, dashboard.refreshMs) : dashboard.refreshMs)
  const read = useGets(
    'timeSeries.data.get',
    groups.map(({ applicationName, endpointId, timeSeriesName }) => ({
      ...{ applicationName, endpointId, timeSeriesName, ...datesOf(period, moves) },
      ...(isRaw ? { points: pointsMax } : { aggregate, interval: intervalOf(period, intervals), timeZone: timeZone() }),
    })),
    moves && refreshMs !== undefined ? { refreshMs } : {},
  )
  const live = useLivePoints(
    place.found.map(({ endpointId, reference }) => keyOfSeries(endpointId, reference.timeSeries)),
  )
  const hasSeveral = new Set(place.found.map(({ endpointId }) => endpointId)).size > 1
  const series = place.found.map(({ reference, endpointId, application }, at): Series => {
    const group = groups.findIndex(({ applicationName }) => applicationName === application)
    const stored = pointsIn(read.each[group] as Points | undefined, endpointId, reference.timeSeries)
    const points = isRaw && moves ? continued(stored, live[at] ?? [], period.from) : stored
    const having = points.filter(({ values }) => (reference.value ?? 'value') in values)
    return {
      name: hasSeveral && !reference.label ? `${endpointId} ${labelOf(reference)}` : labelOf(reference),
      ...{ unit, colour: reference.colour },
      ...numbersOf(having, reference.value ?? 'value'),
    }
  })
  return {
    ...{ series, located: place, problem: read.problem, reload: read.reload },
    isLoading: place.isLoading || read.isLoading,
  }
}

/**
 * Returns the stored points, followed by the live points that are newer than the last stored point. Points before `fromMs` are left out.
 */
export function continued(stored: readonly Point[], live: readonly Point[], fromMs: number): Point[] {
  const last = stored.length === 0 ? fromMs : msOf(stored.at(-1)!.timestamp)
  const newer = live.filter(({ timestamp }) => msOf(timestamp) > last)
  const ordered = newer.toSorted((a, b) => msOf(a.timestamp) - msOf(b.timestamp))
  return [...stored, ...ordered].filter(({ timestamp }) => msOf(timestamp) >= fromMs)
}
