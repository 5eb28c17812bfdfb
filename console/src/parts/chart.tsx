/** A chart of series over time: with a name, a summary, a table and a keyboard cursor for people who cannot see it. */
import { useEffect, useId, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import { Button } from './button.tsx'
import { count, texts } from './texts.ts'
import { formatTime, Time } from './time.tsx'

export interface Series {
  name: string
  unit?: string
  /** Milliseconds since 1970, ascending. */
  times: number[]
  values: (number | null)[]
}

export interface ChartProps {
  name: string
  series: Series[]
  height?: number
  /** Called with the chosen period in milliseconds, after a drag over the chart. */
  onZoom?(from: number, to: number): void
}

const colours = ['--series-1', '--series-2', '--series-3', '--series-4', '--series-5', '--series-6']
const tableRowsMax = 500

/** Joins series with different times into the columns that uPlot needs. */
function columnsOf(series: Series[]): uPlot.AlignedData {
  if (series.length === 1) return [series[0]!.times.map((ms) => ms / 1000), series[0]!.values]
  return uPlot.join(series.map(({ times, values }) => [times.map((ms) => ms / 1000), values])) as uPlot.AlignedData
}

export default function Chart({ name, series, height = 260, onZoom }: ChartProps) {
  const [isTable, setTable] = useState(false)
  const id = useId()
  const points = series.reduce((sum, { values }) => sum + values.length, 0)
  return (
    <figure className="chart" aria-labelledby={`${id}-name`}>
      <figcaption className="chart-head">
        <span id={`${id}-name`} className="chart-name">
          {name}
        </span>
        <Button size="small" look="quiet" icon={isTable ? 'chart' : 'table'} onPress={() => setTable(!isTable)}>
          {isTable ? texts.asChart : texts.asTable}
        </Button>
      </figcaption>
      <p className="visually-hidden">{series.map(summaryOf).join(' ')}</p>
      {points === 0 ? (
        <p className="chart-empty">{texts.chartEmpty}</p>
      ) : isTable ? (
        <PointTable name={name} series={series} />
      ) : (
        <Plot name={name} series={series} height={height} onZoom={onZoom} />
      )}
    </figure>
  )
}

const withUnit = (value: number | null | undefined, unit = '') =>
  value === null || value === undefined ? texts.none : `${count(value)}${unit === '' ? '' : ` ${unit}`}`

function summaryOf({ name, values, unit }: Series): string {
  let low: number | null = null
  let high: number | null = null
  let last: number | null = null
  for (const value of values) {
    if (value === null) continue
    if (low === null || value < low) low = value
    if (high === null || value > high) high = value
    last = value
  }
  return `${name}: ${texts.chartSummary(values.length, withUnit(low, unit), withUnit(high, unit), withUnit(last, unit))}`
}

function Plot({
  name,
  series,
  height,
  onZoom,
}: {
  name: string
  series: Series[]
  height: number
  onZoom: ChartProps['onZoom']
}) {
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const zoom = useRef(onZoom)
  zoom.current = onZoom
  const [cursor, setCursor] = useState<number>()
  const data = useMemo(() => columnsOf(series), [series])
  const shape = JSON.stringify(series.map(({ name, unit }) => [name, unit]))

  // biome-ignore lint/correctness/useExhaustiveDependencies: the data is set below; another shape needs another chart
  useEffect(() => {
    const element = host.current!
    const create = () => {
      plot.current?.destroy()
      plot.current = new uPlot(
        optionsOf(element, series, height, (from, to) => zoom.current?.(from, to)),
        data,
        element,
      )
    }
    create()
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    resize.observe(element)
    const theme = new MutationObserver(create)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      resize.disconnect()
      theme.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, height])

  useEffect(() => plot.current?.setData(data), [data])

  const length = data[0].length
  const moveTo = (index: number) => {
    const at = Math.max(0, Math.min(length - 1, index))
    setCursor(at)
    const chart = plot.current
    if (chart) chart.setCursor({ left: chart.valToPos(data[0][at]!, 'x'), top: 10 })
  }
  const read = (index: number) =>
    `${formatTime(data[0][index]! * 1000)}: ` +
    series.map(({ name, unit }, at) => `${name} ${withUnit(data[at + 1]?.[index] as number | null, unit)}`).join(', ')
  return (
    <div
      ref={host}
      className="chart-plot"
      role="slider"
      tabIndex={0}
      aria-label={`${name}. ${texts.chartHint}`}
      aria-valuemin={0}
      aria-valuemax={length - 1}
      aria-valuenow={cursor ?? length - 1}
      aria-valuetext={read(cursor ?? length - 1)}
      onKeyDown={(event) => {
        const now = cursor ?? length - 1
        const step = event.shiftKey ? 10 : 1
        const target = { ArrowLeft: now - step, ArrowRight: now + step, Home: 0, End: length - 1 }[event.key]
        if (target === undefined) return
        event.preventDefault()
        moveTo(target)
      }}
    />
  )
}

const aroundSeconds = 60
const around = (time: number): [number, number] => [time - aroundSeconds, time + aroundSeconds]

function optionsOf(
  element: HTMLElement,
  series: Series[],
  height: number,
  onZoom: (from: number, to: number) => void,
): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line') },
  }
  return {
    width: element.clientWidth || 600,
    height,
    axes: [{ ...axis }, { ...axis, size: 60 }],
    // uPlot would draw years around a single point.
    scales: { x: { range: ({ data: [times] }, from, to) => (times.length === 1 ? around(times[0]!) : [from, to]) } },
    legend: { live: true },
    cursor: { drag: { x: true, y: false, setScale: false } },
    series: [
      { label: texts.time, value: (_, seconds) => (seconds === null ? texts.none : formatTime(seconds * 1000)) },
      ...series.map(({ name, unit }, index) => ({
        label: name,
        stroke: colour(colours[index % colours.length]!),
        width: 1.75,
        value: (_: uPlot, value: number | null) => withUnit(value, unit),
      })),
    ],
    hooks: {
      setSelect: [
        (chart) => {
          const { left, width } = chart.select
          if (width < 5) return
          onZoom(chart.posToVal(left, 'x') * 1000, chart.posToVal(left + width, 'x') * 1000)
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

/** The newest points as a table. */
function PointTable({ name, series }: { name: string; series: Series[] }) {
  const columns = columnsOf(series)
  const length = columns[0].length
  const first = Math.max(0, length - tableRowsMax)
  const rows = Array.from({ length: length - first }, (_, index) => length - 1 - index)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
    <section className="chart-table" tabIndex={0} aria-label={name}>
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.time}</th>
            {series.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((index) => (
            <tr key={index}>
              <th scope="row">
                <Time value={columns[0][index]! * 1000} style="full" />
              </th>
              {series.map(({ name, unit }, at) => (
                <td key={name}>{withUnit(columns[at + 1]?.[index] as number | null, unit)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
