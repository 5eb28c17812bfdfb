/** A chart of time series. Dragging over the chart changes the period of the dashboard. */
import { Loading } from '../../parts/card.tsx'
import { Chart } from '../../parts/charts.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { useDashboard } from './context.tsx'
import { titleOf, type WidgetOf } from './definition.ts'
import { useSeries } from './use-points.ts'
import { LocatedNotes, WidgetNote } from './widget-notes.tsx'
import { widgetTexts as texts } from './widget-texts.ts'

/** Maximum number of bars. More bars would be too narrow to distinguish. */
const barsMax = 48

export function ChartWidget({ widget, isTable }: { widget: WidgetOf<'chart'>; isTable: boolean }) {
  const dashboard = useDashboard()
  const { aggregate = 'none', time, unit, style = 'line', thresholds = [] } = widget
  const result = useSeries(widget.series, { aggregate, time, unit, intervals: style === 'bars' ? barsMax : undefined })
  const period = dashboard.periodOf(time)
  if (result.problem) return <ErrorNote problem={result.problem} onRetry={result.reload} />
  if (result.isLoading) return <Loading label={texts.loading} lines={5} />
  const notes = <LocatedNotes located={result.located} />
  if (result.located.found.length === 0) return notes
  const last = Math.max(period.to, ...result.series.map(({ times }) => times.at(-1) ?? 0))
  const isEmpty = result.series.every(({ values }) => values.every((value) => value === null))
  return (
    <>
      {notes}
      {isEmpty ? (
        <WidgetNote icon="chart">{texts.noPoints}</WidgetNote>
      ) : (
        <Chart
          name={titleOf(widget)}
          series={result.series}
          height="fill"
          style={style}
          thresholds={thresholds}
          period={{ from: period.from, to: last }}
          sync="dashboard"
          isTable={isTable}
          onZoom={(from, to) => dashboard.zoom(time, { from, to })}
        />
      )}
    </>
  )
}
