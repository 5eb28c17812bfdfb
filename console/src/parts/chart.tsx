/** A chart of series over time: for users who cannot see it, the chart has a name, a summary, a table and a keyboard cursor. */
import { useEffect, useId, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'
import { Button } from './button.tsx'
import { type ChartStyle, optionsOf, withUnit } from './chart-options.ts'
import type { Threshold } from './colours.ts'
import type { Period } from './periods.ts'
import { cut, Text, withoutInvisible } from './text.tsx'
import { texts } from './texts.ts'
import { formatTime, Time } from './time.tsx'

export interface Series {
  name: string
  unit?: string | undefined
  /** Name of a colour. Default: the next colour of the list. */
  colour?: string | undefined
  /** Milliseconds since 1970, ascending. */
  times: number[]
  values: (number | null)[]
}

export interface ChartProps {
  name: string
  series: Series[]
  /** True if a heading beside the chart shows the name. Then only screen readers get the name from the chart. */
  isNameHidden?: boolean
  /**
   * Height in pixels. With `fill`, the chart has the height of its parent, and the parent shows the heading and the choice between chart
   * and table.
   */
  height?: number | 'fill'
  /** Called with the chosen period in milliseconds, after a drag over the chart. */
  onZoom?(from: number, to: number): void
  style?: ChartStyle
  thresholds?: readonly Threshold[]
  /** The period of the horizontal axis. Default: the period of the points. */
  period?: Period | undefined
  /** Charts with the same name share the position of the cursor on the time axis. */
  sync?: string
  /** For a chart with `fill`: shows the points as a table. */
  isTable?: boolean
}

const tableRowsMax = 500
const nameMax = 80

/** Combines series into the columns that uPlot needs. Series of one device mostly have the same times; then no join is needed. */
function columnsOf(series: Series[]): uPlot.AlignedData {
  const seconds = (times: number[]) => times.map((ms) => ms / 1000)
  const [{ times }] = series as [Series, ...Series[]]
  if (series.every((one) => isSame(one.times, times))) return [seconds(times), ...series.map(({ values }) => values)]
  return uPlot.join(series.map(({ times, values }) => [seconds(times), values])) as uPlot.AlignedData
}

const isSame = (a: number[], b: number[]) => a === b || (a.length === b.length && a.every((ms, at) => ms === b[at]))

export default function Chart({ isTable: isTableGiven = false, ...props }: ChartProps) {
  const { name, height = 260 } = props
  const [isTableChosen, setTable] = useState(false)
  const isFilling = height === 'fill'
  const isTable = isFilling ? isTableGiven : isTableChosen
  const id = useId()
  const series = useMemo(() => withShortNames(props.series), [props.series])
  const points = series.reduce((sum, { values }) => sum + values.length, 0)
  return (
    <figure className={isFilling ? 'chart chart-fill' : 'chart'} aria-labelledby={`${id}-name`}>
      <figcaption className={isFilling ? 'visually-hidden' : 'chart-head'}>
        <span id={`${id}-name`} className={props.isNameHidden ? 'visually-hidden' : 'chart-name'}>
          <Text value={name} max={120} />
        </span>
        {!isFilling && (
          <Button size="small" look="quiet" icon={isTable ? 'chart' : 'table'} onPress={() => setTable(!isTable)}>
            {isTable ? texts.asChart : texts.asTable}
          </Button>
        )}
      </figcaption>
      <p className="visually-hidden">{series.map(summaryOf).join(' ')}</p>
      {points === 0 ? (
        <p className="chart-empty">{texts.chartEmpty}</p>
      ) : isTable ? (
        <PointTable name={name} series={series} />
      ) : (
        <Plot {...props} series={series} height={height} />
      )}
    </figure>
  )
}

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

/** Shortens the names of the series and makes them unique. */
function withShortNames(series: Series[]): Series[] {
  const seen = new Map<string, number>()
  return series.map((one) => {
    const name = withoutInvisible(cut(one.name, nameMax).shown)
    const number = (seen.get(name) ?? 0) + 1
    seen.set(name, number)
    return { ...one, name: number === 1 ? name : `${name} (${number})` }
  })
}

const heightMin = 60
const legendOf = (element: HTMLElement) => element.querySelector<HTMLElement>('.u-legend')?.offsetHeight ?? 0

function Plot(props: ChartProps & { height: number | 'fill' }) {
  const { name, series, height, style = 'line', thresholds = [], sync } = props
  const host = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const latest = useRef(props)
  latest.current = props
  const [cursor, setCursor] = useState<number>()
  const data = useMemo(() => columnsOf(series), [series])
  const shown = useRef(data)
  shown.current = data
  const shape = JSON.stringify([series.map(({ name, unit, colour }) => [name, unit, colour]), style, thresholds, sync])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the data is set below; another shape needs another chart
  useEffect(() => {
    const element = host.current!
    const sizeOf = () => ({
      width: element.clientWidth || 600,
      height: height === 'fill' ? Math.max(heightMin, element.clientHeight - legendOf(element)) : height,
    })
    const create = () => {
      plot.current?.destroy()
      const options = optionsOf(element, {
        ...{ series, style, thresholds, sync, ...sizeOf() },
        period: () => latest.current.period,
        onZoom: (from, to) => latest.current.onZoom?.(from, to),
      })
      plot.current = new uPlot(options, shown.current, element)
      // The height of the plot depends on the height of the legend, which gets its lines later, so the legend is observed too.
      const legend = element.querySelector('.u-legend')
      if (height === 'fill' && legend) resize.observe(legend)
    }
    const resize = new ResizeObserver(() => plot.current?.setSize(sizeOf()))
    create()
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

  // biome-ignore lint/correctness/useExhaustiveDependencies: another period moves the axis
  useEffect(() => plot.current?.setData(data), [data, props.period?.from, props.period?.to])

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
  const now = Math.min(cursor ?? length - 1, length - 1)
  return (
    <div
      ref={host}
      className={style === 'bars' ? 'chart-plot chart-bars' : 'chart-plot'}
      role="slider"
      tabIndex={0}
      aria-label={`${withoutInvisible(cut(name, nameMax).shown)}. ${texts.chartHint}`}
      aria-valuemin={0}
      aria-valuemax={length - 1}
      aria-valuenow={now}
      aria-valuetext={read(now)}
      onKeyDown={(event) => {
        const step = event.shiftKey ? 10 : 1
        const target = { ArrowLeft: now - step, ArrowRight: now + step, Home: 0, End: length - 1 }[event.key]
        if (target === undefined) return
        event.preventDefault()
        moveTo(target)
      }}
    />
  )
}

/** Shows the newest points in a table. */
function PointTable({ name, series }: { name: string; series: Series[] }) {
  const columns = columnsOf(series)
  const length = columns[0].length
  const first = Math.max(0, length - tableRowsMax)
  const rows = Array.from({ length: length - first }, (_, index) => length - 1 - index)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
    <section className="chart-table" tabIndex={0} aria-label={withoutInvisible(cut(name, nameMax).shown)}>
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
