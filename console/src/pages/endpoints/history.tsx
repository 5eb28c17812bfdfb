/** Charts of the series of an endpoint over time. */
import { useMemo, useState } from 'react'
import { useAddToDashboard } from '../../api/add-to-dashboard.ts'
import { rowsOf, type ValueRow } from '../../api/points.ts'
import { useGet } from '../../api/query.ts'
import { AddToDashboardButton } from '../../parts/add-to-dashboard.tsx'
import { type Codec, manyOf, oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Card, Loading } from '../../parts/card.tsx'
import type { Series } from '../../parts/chart.tsx'
import { Chart } from '../../parts/charts.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar } from '../../parts/filter-bar.tsx'
import { EmptyState, ErrorNote, Note } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { msOf, timeZone } from '../../parts/time.tsx'
import type { TabProps } from './tab.ts'
import { tabTexts as texts } from './tab-texts.ts'

const ranges = ['1h', '6h', '1d', '7d', '30d', '1y'] as const
const aggregates = ['none', 'avg', 'min', 'max', 'sum', 'count'] as const
/** Aggregation interval of each range. It is chosen so that a chart has about 300 points. */
const intervals = { '1h': '10s', '6h': '1m', '1d': '5m', '7d': '30m', '30d': '2h', '1y': '1d' }
const pointsMax = 1500
const seriesMax = 6
const shownRows = 60

const time: Codec<number> = {
  default: 0,
  read: (value) => (/^\d{1,14}$/.test(value) ? Number(value) : undefined),
  write: String,
}

export default function HistoryTab({ endpoint: { endpointId, appName } }: TabProps) {
  const address = useAddressState({
    ...{ tab: text('now'), series: manyOf(), range: oneOf(ranges, '1d'), aggregate: oneOf(aggregates, 'none') },
    ...{ from: time, to: time },
  })
  const { range, aggregate, from, to } = address.values
  const last = useGet('timeSeries.last.get', { applicationName: appName, endpointId })
  const rows = rowsOf(last.data?.[endpointId])
  const chosen = address.values.series.length > 0 ? address.values.series : rows.slice(0, 1).map(({ id }) => id)
  const shown = rows.filter(({ id }) => chosen.includes(id)).slice(0, seriesMax)
  const isZoomed = from > 0 && to > from
  const args = {
    ...{ applicationName: appName, endpointId, timeSeriesName: [...new Set(shown.map(({ series }) => series))] },
    ...(isZoomed ? { fromDate: String(from), toDate: String(to) } : { fromDate: `now-${range}`, toDate: 'now' }),
    ...(aggregate === 'none' ? { points: pointsMax } : { aggregate, interval: intervals[range], timeZone: timeZone() }),
  }
  const points = useGet('timeSeries.data.get', args, {
    enabled: shown.length > 0,
    ...(!isZoomed && { refreshMs: 10_000 }),
  })
  const names = shown.map(({ id }) => id).join('\n')
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names stand for the rows
  const series = useMemo(
    () =>
      shown.map(({ name, series, valueName }): Series => {
        const found = points.data?.flatMap((byEndpoint) => byEndpoint[endpointId]?.[series] ?? []) ?? []
        const having = found.filter(({ values }) => valueName in values)
        return {
          name,
          times: having.map(({ timestamp }) => msOf(timestamp)),
          values: having.map(({ values }) => (typeof values[valueName] === 'number' ? values[valueName] : null)),
        }
      }),
    [points.data, names, endpointId],
  )
  const toggle = (id: string) =>
    address.set({
      series: chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(-seriesMax),
    })
  if (last.isLoading) return <Loading label={texts.loading} />
  if (last.problem) return <ErrorNote problem={last.problem} onRetry={() => void last.reload()} />
  if (rows.length === 0)
    return (
      <EmptyState icon="chart" title={texts.noSeriesTitle}>
        {texts.noSeries}
      </EmptyState>
    )
  return (
    <>
      <FilterBar address={{ ...address, isChanged: false }}>
        <SelectField
          label={texts.range}
          value={range}
          onChange={(key) => address.set({ range: key as typeof range, from: 0, to: 0 })}
          options={ranges.map((value) => ({ value, label: texts.ranges[value] }))}
          isCompact
        />
        <SelectField
          label={texts.aggregate}
          value={aggregate}
          onChange={(key) => address.set({ aggregate: key as typeof aggregate })}
          options={aggregates.map((value) => ({ value, label: texts.aggregates[value] }))}
          isCompact
        />
        <AddChart endpointId={endpointId} shown={shown} aggregate={aggregate} />
        <AsCommand operation="timeSeries.data.get" args={args} />
      </FilterBar>
      <SeriesChoice rows={rows} chosen={chosen} onToggle={toggle} />
      {isZoomed && (
        <Note action={<Button onPress={() => address.set({ from: 0, to: 0 })}>{texts.zoomOut}</Button>}>
          {texts.zoomed}
        </Note>
      )}
      {points.problem && <ErrorNote problem={points.problem} onRetry={() => void points.reload()} />}
      <Card>
        {shown.length === 0 ? (
          <p className="quiet">{texts.chooseSeries}</p>
        ) : (
          <Chart
            name={texts.history}
            series={series}
            height={340}
            onZoom={(from, to) => address.set({ from: Math.floor(from), to: Math.ceil(to) })}
          />
        )}
      </Card>
      {chosen.length >= seriesMax && <p className="quiet">{texts.seriesMax(seriesMax)}</p>}
    </>
  )
}

function AddChart({
  endpointId,
  shown,
  aggregate,
}: {
  endpointId: string
  shown: ValueRow[]
  aggregate: (typeof aggregates)[number]
}) {
  const [isNeeded, setNeeded] = useState(false)
  const { isOffered, add, ...rest } = useAddToDashboard({ enabled: isNeeded })
  if (!isOffered || shown.length === 0) return null
  const series = shown.map(({ series, valueName }) => ({
    ...{ endpoint: endpointId, timeSeries: series },
    ...(valueName !== 'value' && { value: valueName }),
  }))
  return (
    <AddToDashboardButton
      {...rest}
      onOpen={() => setNeeded(true)}
      onAdd={(target, title) => add(target, { kind: 'chart', ...(title !== '' && { title }), aggregate, series })}
    />
  )
}

const SeriesChoice = ({
  rows,
  chosen,
  onToggle,
}: {
  rows: ValueRow[]
  chosen: string[]
  onToggle(id: string): void
}) => (
  <fieldset className="series-choice">
    <legend className="visually-hidden">{texts.series}</legend>
    {rows.slice(0, shownRows).map(({ id, name }) => (
      <button
        key={id}
        type="button"
        className="segment"
        aria-pressed={chosen.includes(id)}
        onClick={() => onToggle(id)}
      >
        <Text value={name} max={40} />
      </button>
    ))}
  </fieldset>
)
