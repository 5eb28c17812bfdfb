/** Options with which uPlot draws a chart: colours of the theme, styles of lines, thresholds, and times in the time zone of the user. */
import uPlot from 'uplot'
import { colourOf, resolvedColour, seriesColours, type Threshold } from './colours.ts'
import type { Period } from './periods.ts'
import { count, texts } from './texts.ts'
import { axisTexts, dateOf, formatClock, timeZone } from './time.tsx'

export type ChartStyle = 'line' | 'area' | 'bars' | 'steps' | 'points'

export interface DrawnSeries {
  name: string
  unit?: string | undefined
  /** Name of a colour. Default: the next colour of the list. */
  colour?: string | undefined
}

export interface DrawOptions {
  series: readonly DrawnSeries[]
  style: ChartStyle
  thresholds: readonly Threshold[]
  /** Charts with the same name share the position of the cursor on the time axis. */
  sync: string | undefined
  width: number
  height: number
  /** Returns the period of the horizontal axis, or undefined for the period of the points. Called whenever data is set. */
  period(): Period | undefined
  onZoom(from: number, to: number): void
}

export const withUnit = (value: number | null | undefined, unit = '') =>
  value === null || value === undefined ? texts.none : `${count(value)}${unit === '' ? '' : ` ${unit}`}`

/** Returns the unit if all series have the same unit. The axis shows a unit only in this case. */
const commonUnit = (series: readonly DrawnSeries[]) => {
  const units = new Set(series.map(({ unit = '' }) => unit))
  return units.size === 1 ? [...units][0]! : ''
}

function pathOf(style: ChartStyle): Partial<uPlot.Series> {
  const { bars, stepped } = uPlot.paths
  if (style === 'bars') return { paths: bars!({ size: [0.7, 60], align: 0 }), points: { show: false } }
  if (style === 'steps') return { paths: stepped!({ align: 1 }) }
  if (style === 'points') return { paths: () => null, points: { show: true, size: 5 } }
  return {}
}

/** Patterns of dashes for series that have the same colour as an earlier series. */
const dashes = [
  [8, 4],
  [2, 3],
  [10, 3, 2, 3],
]

function dashOf(index: number): { dash: number[] } | undefined {
  const round = Math.floor(index / seriesColours)
  return round > 0 ? { dash: dashes[(round - 1) % dashes.length]! } : undefined
}

/** Returns a colour with the given opacity. Colours of the theme are written in hexadecimal digits. */
const faded = (colour: string, opacity: string) =>
  /^#[0-9a-f]{6}$/i.test(colour) ? `${colour}${opacity}` : 'transparent'

export function optionsOf(element: HTMLElement, options: DrawOptions): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => resolvedColour(style, `var(${name})`)
  const axis = {
    stroke: colour('--soft'),
    font: '11.5px system-ui, sans-serif',
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), size: 5 },
  }
  const unit = commonUnit(options.series)
  return {
    width: options.width,
    height: options.height,
    // The last mark of the time axis may be at the right end of the axis. Half of its text then needs space beyond the axis.
    padding: [10, 24, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(dateOf(seconds * 1000), timeZone()),
    axes: [
      {
        ...{ ...axis, space: 70, size: 30 },
        values: (_, splits, _axis, _space, step) =>
          axisTexts(
            splits.map((seconds) => seconds * 1000),
            step * 1000,
          ),
      },
      {
        ...axis,
        values: (_, splits) => splits.map((value) => withUnit(value, unit)),
        size: (_, values) => 22 + Math.max(2, ...(values ?? []).map((text) => text.length)) * 6.2,
      },
    ],
    scales: {
      x: { range: ({ data: [times] }, low, high) => rangeOf(options.period(), times, low, high) },
      // With bars, the axis must begin at zero, so that the height of a bar shows its value.
      ...(options.style === 'bars' && {
        y: { range: (_, low, high) => uPlot.rangeNum(Math.min(0, low ?? 0), Math.max(0, high ?? 1), 0.1, true) },
      }),
    },
    legend: { live: true, markers: { dash: (_, index) => (dashOf(index - 1) ? 'dashed' : 'solid') } },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      ...(options.sync !== undefined && {
        // Charts share only the cursor: a selection in one chart does not select in other charts.
        sync: { key: options.sync, filters: { sub: (type) => type === 'mousemove' || type === 'mouseleave' } },
      }),
    },
    series: [
      { label: texts.time, value: (_, seconds) => (seconds === null ? texts.none : formatClock(seconds * 1000)) },
      ...options.series.map(({ name, unit, colour: named }, index) => {
        const stroke = resolvedColour(style, colourOf(named, index))
        return {
          label: name,
          stroke,
          width: options.style === 'bars' ? 1 : 1.75,
          ...(named === undefined && options.style !== 'bars' && dashOf(index)),
          ...pathOf(options.style),
          ...(options.style === 'area' && { fill: faded(stroke, '2b') }),
          ...(options.style === 'bars' && { fill: faded(stroke, '8c') }),
          value: (_: uPlot, value: number | null) => withUnit(value, unit),
        }
      }),
    ],
    hooks: {
      // Without a cursor, the legend shows the newest values.
      setCursor: [(chart) => chart.cursor.idx === null && showNewest(chart)],
      setData: [showNewest],
      draw: [(chart) => drawThresholds(chart, style, options.thresholds)],
      setSelect: [
        (chart) => {
          const { left, width } = chart.select
          if (width < 5) return
          options.onZoom(chart.posToVal(left, 'x') * 1000, chart.posToVal(left + width, 'x') * 1000)
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

function showNewest(chart: uPlot) {
  const newest = chart.data.map((values) => values.findLastIndex((value) => value !== null && value !== undefined))
  const idxs = newest.map((index) => (index < 0 ? null : index))
  if (idxs[0] !== null) chart.setLegend({ idxs }, false)
}

const aroundSeconds = 60

/** Returns the range of the time axis. By itself, uPlot would draw years around a single point. */
function rangeOf(period: Period | undefined, times: ArrayLike<number>, low: number, high: number): [number, number] {
  if (period) return [period.from / 1000, period.to / 1000]
  return times.length === 1 ? [times[0]! - aroundSeconds, times[0]! + aroundSeconds] : [low, high]
}

function drawThresholds(chart: uPlot, style: CSSStyleDeclaration, thresholds: readonly Threshold[]) {
  const { ctx, bbox } = chart
  for (const { from, colour } of thresholds) {
    const y = chart.valToPos(from, 'y', true)
    if (!(y >= bbox.top && y <= bbox.top + bbox.height)) continue
    ctx.save()
    ctx.strokeStyle = resolvedColour(style, colourOf(colour))
    ctx.lineWidth = 1.5 * devicePixelRatio
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio])
    ctx.beginPath()
    ctx.moveTo(bbox.left, y)
    ctx.lineTo(bbox.left + bbox.width, y)
    ctx.stroke()
    ctx.restore()
  }
}
