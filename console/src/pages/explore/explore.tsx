/** Charts of several series of several endpoints, with aggregation, zoom and comparison. */

import { useState } from 'react'
import { type NewChart, useAddToDashboard } from '../../api/add-to-dashboard.ts'
import { useApplications } from '../../api/applications.ts'
import { useGet } from '../../api/query.ts'
import { useEndpointChoice, useSeriesChoice } from '../../api/series-choice.ts'
import { AddToDashboardButton } from '../../parts/add-to-dashboard.tsx'
import { manyOf, oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import { csvOf, seriesOf, withoutMark } from '../../parts/chart-series.ts'
import { Chart } from '../../parts/charts.tsx'
import { saveText } from '../../parts/copy.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar } from '../../parts/filter-bar.tsx'
import { MultiSelect } from '../../parts/multi-select.tsx'
import { EmptyState, ErrorNote } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import {
  chosenOf,
  earlierOf,
  intervalOf,
  type Period,
  periodOf,
  periodText,
  ranges,
  roundedNow,
} from '../../parts/periods.ts'
import { timeZone, utcOf } from '../../parts/time.tsx'
import { texts } from './texts.ts'

const aggregates = ['none', 'avg', 'min', 'max', 'sum', 'count', 'first', 'last'] as const
const compares = ['none', 'previous', 'day', 'week'] as const
const pointsMax = 2000
/** Maximum number of series that a chart of a dashboard can have. */
const chartSeriesMax = 50
const optionsOf = (names: Record<string, string>) => Object.entries(names).map(([value, label]) => ({ value, label }))

const useView = () =>
  useAddressState({
    application: text(),
    endpoints: manyOf(),
    series: manyOf(),
    range: oneOf(ranges, '1d'),
    period: periodText,
    aggregate: oneOf(aggregates, 'none'),
    compare: oneOf(compares, 'none'),
  })
type View = ReturnType<typeof useView>

export default function ExplorePage() {
  const view = useView()
  const { application, endpoints, series } = view.values
  const isComplete = application !== '' && endpoints.length > 0 && series.length > 0
  return (
    <>
      <PageHeader title={texts.title} lead={texts.lead} />
      <FilterBar address={view}>
        <ApplicationChoice view={view} />
        {application !== '' && <EndpointChoice view={view} />}
        {application !== '' && <SeriesChoice view={view} />}
        <PeriodChoice view={view} />
        <SelectField
          label={texts.aggregate}
          value={view.values.aggregate}
          onChange={(value) => view.set({ aggregate: aggregates.find((known) => known === value) ?? 'none' })}
          options={optionsOf(texts.aggregates)}
          isCompact
        />
        <SelectField
          label={texts.compare}
          value={view.values.compare}
          onChange={(value) => view.set({ compare: compares.find((known) => known === value) ?? 'none' })}
          options={optionsOf(texts.compares)}
          isCompact
        />
      </FilterBar>
      {isComplete ? (
        <Charts view={view} />
      ) : (
        <EmptyState icon="chart" title={texts.startTitle}>
          {texts.startText}
        </EmptyState>
      )}
    </>
  )
}

function ApplicationChoice({ view }: { view: View }) {
  const { items } = useApplications()
  return (
    <SelectField
      label={texts.application}
      placeholder={texts.chooseApplication}
      value={view.values.application}
      onChange={(application) => view.set({ application, endpoints: [], series: [] })}
      options={items.map(({ name, displayName }) => ({ value: name, label: displayName ?? name }))}
      isCompact
    />
  )
}

function EndpointChoice({ view }: { view: View }) {
  const { application, endpoints } = view.values
  const { problem: _, ...choice } = useEndpointChoice(application)
  return (
    <MultiSelect
      label={texts.endpoints}
      summary={endpoints.length === 0 ? texts.allEndpoints : texts.chosenEndpoints(endpoints.length)}
      values={endpoints}
      onChange={(endpoints) => view.set({ endpoints })}
      {...choice}
    />
  )
}

function SeriesChoice({ view }: { view: View }) {
  const { application, series } = view.values
  const { problem: _, ...choice } = useSeriesChoice(application)
  return (
    <MultiSelect
      label={texts.series}
      summary={series.length === 0 ? texts.chooseSeries : texts.chosenSeries(series.length)}
      values={series}
      onChange={(series) => view.set({ series })}
      {...choice}
    />
  )
}

function PeriodChoice({ view }: { view: View }) {
  const { range, period } = view.values
  const chosen = period === '' ? [] : [{ value: 'chosen', label: texts.chosenPeriod }]
  return (
    <SelectField
      label={texts.range}
      value={period === '' ? range : 'chosen'}
      onChange={(value) => {
        const known = ranges.find((one) => one === value)
        if (known) view.set({ range: known, period: '' })
      }}
      options={[...chosen, ...optionsOf(texts.ranges)]}
      isCompact
    />
  )
}

function argumentsOf({ application, endpoints, series, aggregate }: View['values'], period: Period, shiftMs = 0) {
  return {
    applicationName: application,
    endpointId: endpoints,
    timeSeriesName: series,
    fromDate: utcOf(period.from - shiftMs),
    toDate: utcOf(period.to - shiftMs),
    ...(aggregate === 'none'
      ? { points: pointsMax }
      : { aggregate, interval: intervalOf(period), timeZone: timeZone() }),
  }
}

function Charts({ view }: { view: View }) {
  const [refreshedAt] = useState(roundedNow)
  const period = periodOf(view.values.range, view.values.period, refreshedAt)
  const shiftMs = earlierOf(period, view.values.compare)
  const args = argumentsOf(view.values, period)
  const now = useGet('timeSeries.data.get', args)
  const before = useGet('timeSeries.data.get', argumentsOf(view.values, period, shiftMs ?? 0), {
    enabled: shiftMs !== undefined,
  })
  if (now.isLoading) return <Loading label={texts.title} lines={8} />
  if (now.problem) return <ErrorNote problem={now.problem} onRetry={() => void now.reload()} />
  const series = [
    ...seriesOf(now.data as never, (name) => name),
    ...(shiftMs === undefined ? [] : seriesOf(before.data as never, texts.earlier, shiftMs)),
  ]
  const name = texts.chart(view.values.series.map((one) => withoutMark(one)).join(', '))
  return (
    <Card
      actions={
        <>
          {view.values.period !== '' && (
            <Button size="small" icon="search" onPress={() => view.set({ period: '' })}>
              {texts.zoomOut}
            </Button>
          )}
          <Button size="small" icon="download" onPress={() => saveText('series.csv', csvOf(series, utcOf), 'text/csv')}>
            {texts.download}
          </Button>
          <AddChart view={view} />
          <AsCommand operation="timeSeries.data.get" args={args} />
        </>
      }
      title={name}
    >
      {series.length === 0 ? (
        <p>{texts.noPoints}</p>
      ) : (
        <Chart
          name={name}
          isNameHidden
          series={series}
          height={420}
          onZoom={(from, to) => view.set({ period: chosenOf({ from, to }) })}
        />
      )}
      {view.values.aggregate === 'none' && <p className="field-description">{texts.note(pointsMax)}</p>}
    </Card>
  )
}

/** Aggregates that a dashboard supports. This page supports more. */
const dashboardAggregates = ['avg', 'min', 'max', 'sum', 'count', 'last'] as const

/** Returns the chart for a dashboard. Each series of each endpoint becomes a line of the chart. */
function chartOf({ endpoints, series, aggregate }: View['values'], title: string): NewChart {
  const known = dashboardAggregates.find((one) => one === aggregate)
  return {
    kind: 'chart',
    ...(title !== '' && { title }),
    ...(known && { aggregate: known }),
    series: endpoints
      .flatMap((endpoint) => series.map((timeSeries) => ({ endpoint, timeSeries })))
      .slice(0, chartSeriesMax),
  }
}

function AddChart({ view }: { view: View }) {
  const [isNeeded, setNeeded] = useState(false)
  const { isOffered, add, ...rest } = useAddToDashboard({ enabled: isNeeded })
  if (!isOffered) return null
  return (
    <AddToDashboardButton
      {...rest}
      onOpen={() => setNeeded(true)}
      onAdd={(target, title) => add(target, chartOf(view.values, title))}
    />
  )
}
