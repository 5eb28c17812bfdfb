/** Shows one value of a series: the newest value with its trend, or an aggregate over the period of the dashboard. */
import { useGets } from '../../api/query.ts'
import { Loading } from '../../parts/card.tsx'
import type { Point, Points } from '../../parts/chart-series.ts'
import { thresholdColour } from '../../parts/colours.ts'
import { ErrorNote } from '../../parts/notes.tsx'
import { intervalOf } from '../../parts/periods.ts'
import { Sparkline } from '../../parts/sparkline.tsx'
import { Text } from '../../parts/text.tsx'
import { formatNumber } from '../../parts/texts.ts'
import { msOf, Time, utcOf } from '../../parts/time.tsx'
import { useDashboard } from './context.tsx'
import type { WidgetOf } from './definition.ts'
import { keyOfSeries, useLivePoints } from './live-points.ts'
import { isMoving } from './references.ts'
import { located, pointsIn } from './use-points.ts'
import { LocatedNotes, WidgetNote } from './widget-notes.tsx'
import { widgetTexts as texts } from './widget-texts.ts'

type Props = { widget: WidgetOf<'value'> }
type WholeTime = keyof typeof texts.wholeTime

const trendPoints = 60

export function ValueWidget({ widget }: Props) {
  const { aggregate = 'last' } = widget
  return aggregate === 'last' || aggregate === 'none' ? (
    <NewestValue widget={widget} />
  ) : (
    <ValueOfPeriod widget={widget} aggregate={aggregate} />
  )
}

function NewestValue({ widget }: Props) {
  const { series } = widget
  const dashboard = useDashboard()
  const place = located(dashboard, [series])
  const [found] = place.found
  const read = useGets(
    'timeSeries.last.get',
    found
      ? [
          {
            ...{ applicationName: found.application, endpointId: found.endpointId },
            ...{ timeSeriesName: series.timeSeries, limit: trendPoints },
          },
        ]
      : [],
    dashboard.refreshMs === undefined ? {} : { refreshMs: dashboard.refreshMs },
  )
  const [live = []] = useLivePoints(found ? [keyOfSeries(found.endpointId, series.timeSeries)] : [])
  if (read.problem) return <ErrorNote problem={read.problem} onRetry={read.reload} />
  if (place.isLoading || read.isLoading) return <Loading label={texts.loading} lines={2} />
  if (!found) return <LocatedNotes located={place} />
  const stored = read.each[0] as Record<string, Record<string, Point[]>> | undefined
  const field = series.value ?? 'value'
  const points = [...(stored?.[found.endpointId]?.[series.timeSeries] ?? []), ...live]
    .filter(({ values }) => values[field] !== undefined && values[field] !== null)
    .toSorted((a, b) => msOf(a.timestamp) - msOf(b.timestamp))
    .slice(-trendPoints)
  const last = points.at(-1)
  if (!last) return <WidgetNote icon="activity">{texts.noValue}</WidgetNote>
  const numbers = points.flatMap(({ values }) => (typeof values[field] === 'number' ? [values[field]] : []))
  return (
    <BigValue widget={widget} value={last.values[field]} trend={numbers}>
      <Time value={last.timestamp} />
    </BigValue>
  )
}

/** Returns the aggregates to request. An average is computed as the sum over all intervals divided by the number of their points. */
const functionsOf = (aggregate: WholeTime): WholeTime[] => (aggregate === 'avg' ? ['sum', 'count'] : [aggregate])

function ValueOfPeriod({ widget, aggregate }: Props & { aggregate: WholeTime }) {
  const { series, time } = widget
  const dashboard = useDashboard()
  const place = located(dashboard, [series])
  const [found] = place.found
  const period = dashboard.periodOf(time)
  const moves = isMoving(dashboard.timeOf(time))
  const read = useGets(
    'timeSeries.data.get',
    found
      ? functionsOf(aggregate).map((one) => ({
          ...{ applicationName: found.application, endpointId: found.endpointId, timeSeriesName: series.timeSeries },
          ...{ aggregate: one, interval: intervalOf(period) },
          ...(moves
            ? { fromDate: `now-${Math.round((period.to - period.from) / 1000)}s`, toDate: 'now' }
            : { fromDate: utcOf(period.from), toDate: utcOf(period.to) }),
        }))
      : [],
    moves && dashboard.refreshMs !== undefined ? { refreshMs: dashboard.refreshMs } : {},
  )
  if (read.problem) return <ErrorNote problem={read.problem} onRetry={read.reload} />
  if (place.isLoading || read.isLoading) return <Loading label={texts.loading} lines={2} />
  if (!found) return <LocatedNotes located={place} />
  const numbersOf = (at: number) =>
    pointsIn(read.each[at] as Points | undefined, found.endpointId, series.timeSeries).flatMap(({ values }) => {
      const value = values[series.value ?? 'value']
      return typeof value === 'number' ? [value] : []
    })
  const value = joined(aggregate, numbersOf(0), numbersOf(1))
  if (value === undefined) return <WidgetNote icon="activity">{texts.noPoints}</WidgetNote>
  return (
    <BigValue widget={widget} value={value} trend={aggregate === 'avg' ? [] : numbersOf(0)}>
      {texts.wholeTime[aggregate]}
    </BigValue>
  )
}

const sumOf = (numbers: number[]) => numbers.reduce((sum, number) => sum + number, 0)

/** Combines the values of all intervals into one value. */
function joined(aggregate: WholeTime, numbers: number[], counts: number[]): number | undefined {
  if (numbers.length === 0) return undefined
  if (aggregate === 'min') return Math.min(...numbers)
  if (aggregate === 'max') return Math.max(...numbers)
  if (aggregate !== 'avg') return sumOf(numbers)
  const all = sumOf(counts)
  return all === 0 ? undefined : sumOf(numbers) / all
}

function BigValue({
  widget: { unit, decimals, thresholds },
  value,
  trend,
  children,
}: Props & { value: unknown; trend: number[]; children: React.ReactNode }) {
  const colour = thresholdColour(value, thresholds)
  return (
    <div
      className="big-value"
      data-coloured={colour !== undefined || undefined}
      style={{ ['--value' as string]: colour }}
    >
      <p className="big-value-number">
        <Text value={typeof value === 'number' ? formatNumber(value, decimals) : value} max={40} />
        {unit && (
          <span className="big-value-unit">
            <Text value={unit} max={30} />
          </span>
        )}
      </p>
      <Sparkline values={trend} isWide />
      <p className="big-value-note">{children}</p>
    </div>
  )
}
