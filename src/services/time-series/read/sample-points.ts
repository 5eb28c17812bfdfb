/** Converts samples in the form that `store/sample-records.ts` returns to points of series. */
import type { Points, Value } from '../points.ts'
import { recordHead } from '../record.ts'
import type { SeriesSet } from '../store/numbers.ts'
import type { SampleRows } from '../store/sample-records.ts'
import type { Span } from '../times.ts'
import { type Sum, scaledSumOf } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import { isAscending, orderOf, reorder } from './time-order.ts'

/** Describes which values of which sets a query reads. */
export interface SampleFormat {
  sets: SeriesSet[]
  /** The selected series. */
  selectedSeries: number[]
  bySet: Map<number, SelectedOfSet>
  /** True if only the selected values of a sample are read. */
  isNarrow: boolean
  /** Maximum number of values that are read from a sample. */
  width: number
}

interface SelectedOfSet {
  /** Indexes in `selectedSeries`. */
  selectedIndexes: number[]
  /** Index of each selected value in the sample. */
  valueIndexes: number[]
  /** Index of each selected value in the record. */
  positions: number[]
  /** Length of a record in numbers. */
  length: number
}

/** A set with more values than this limit counts as large. If no set is large, whole records are read. */
const fewValuesMax = 16
/** Up to these limits, only the selected values are read from records of large sets. */
const narrowValuesMax = 8
const narrowSetsMax = 32

export function sampleFormat(all: SeriesSet[], selectedSeries: number[]): SampleFormat {
  const sets = all.filter(({ seriesIds }) => selectedSeries.some((seriesId) => seriesIds.includes(seriesId)))
  const isNarrow =
    sets.some(({ seriesIds }) => seriesIds.length > fewValuesMax) &&
    selectedSeries.length <= narrowValuesMax &&
    sets.length <= narrowSetsMax
  const bySet = new Map<number, SelectedOfSet>()
  for (const { setId, seriesIds } of sets) {
    const indexOf = new Map(seriesIds.map((seriesId, index) => [seriesId, index]))
    const selected: SelectedOfSet = { selectedIndexes: [], valueIndexes: [], positions: [], length: 0 }
    for (const [index, seriesId] of selectedSeries.entries()) {
      const valueIndex = indexOf.get(seriesId)
      if (valueIndex === undefined) continue
      selected.positions.push(recordHead + (isNarrow ? selected.selectedIndexes.length : valueIndex))
      selected.selectedIndexes.push(index)
      selected.valueIndexes.push(valueIndex)
    }
    selected.length = recordHead + (isNarrow ? selected.selectedIndexes : seriesIds).length
    bySet.set(setId, selected)
  }
  const width = Math.max(1, ...[...bySet.values()].map(({ length }) => length - recordHead))
  return { sets, selectedSeries: selectedSeries, bySet, isNarrow, width }
}

type Other = Exclude<Value, number>

/** Samples, with the offset of each record. */
export interface Samples extends SampleRows {
  offsets: Uint32Array
}

/** Finds where each record begins. */
export function locate(rows: SampleRows, { sets, bySet }: SampleFormat): Samples {
  const { records, setIds } = rows
  const { length } = bySet.get(sets[0]!.setId)!
  const offsets = new Uint32Array(setIds?.length ?? Math.floor(records.length / length))
  let end = 0
  for (let row = 0; row < offsets.length; row++) {
    offsets[row] = end
    end += setIds ? bySet.get(setIds[row]!)!.length : length
  }
  if (end !== records.length) throw new Error(`samples have ${records.length} numbers instead of ${end}`)
  return { ...rows, offsets }
}

export const countOf = ({ offsets }: Samples) => offsets.length

/** Returns the first and the last time. */
export function rangeOf({ records, offsets }: Samples): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const offset of offsets) {
    const time = records[offset + 1]!
    if (time < from) from = time
    if (time > to) to = time
  }
  return { from, to }
}

/**
 * Returns true if a record has a value that is not a number, which is stored as NaN. The values are added, because a sum with NaN is NaN
 * and adding is faster than checking each value.
 */
export function hasOthers({ records }: SampleRows): boolean {
  let sum = 0
  for (let index = 0; index < records.length; index++) sum += records[index]! * 0
  return Number.isNaN(sum)
}

/** The samples of one series of one endpoint. */
export interface RecentPoints {
  /** Strictly ascending. */
  times: Float64Array
  points(): Points
  /** Returns sums in time order, without empty intervals. Absent if the samples have several sets or values that are not numbers. */
  sums: ((interval: Interval) => Sum[]) | undefined
}

/** Samples by endpoint and series. */
export type SamplePoints = Map<number, Map<number, RecentPoints>>

/** Converts samples to points. Returns undefined if a series has the same time twice and the rows do not contain the order of writes. */
export function samplePoints(
  samples: Samples,
  format: SampleFormat,
  task: Span & { endpointNos: number[] },
): SamplePoints | undefined {
  const points: SamplePoints = new Map()
  const others = othersByRow(samples)
  for (const { endpointNo, ...rows } of rowsByEndpoint(samples, task)) {
    const bySeries = pointsOfEndpoint(samples, format, rows, others)
    if (!bySeries) return undefined
    points.set(endpointNo, bySeries)
  }
  return points
}

/** Rows and their times. */
interface TimedRows {
  rows: Uint32Array
  times: Float64Array
}

/** Groups the rows in the task's time range by endpoint, in the order in which they were read. */
function* rowsByEndpoint(
  { records, offsets }: Samples,
  { endpointNos, from, to }: Span & { endpointNos: number[] },
): Generator<TimedRows & { endpointNo: number }> {
  const indexOf = new Map(endpointNos.map((endpointNo, index) => [endpointNo, index]))
  const ends = new Uint32Array(endpointNos.length)
  const outside = endpointNos.length
  const groups = new Uint32Array(offsets.length)
  for (let row = 0; row < offsets.length; row++) {
    const offset = offsets[row]!
    const time = records[offset + 1]!
    const group = time < from || time > to ? outside : indexOf.get(records[offset]!)!
    groups[row] = group
    if (group < outside) ends[group]!++
  }
  for (let index = 1; index < ends.length; index++) ends[index]! += ends[index - 1]!
  const starts = new Uint32Array(ends.length)
  starts.set(ends.subarray(0, -1), 1)
  const next = starts.slice()
  const rows = new Uint32Array(ends.at(-1) ?? 0)
  const times = new Float64Array(rows.length)
  for (let row = 0; row < groups.length; row++) {
    const group = groups[row]!
    if (group === outside) continue
    const at = next[group]!++
    rows[at] = row
    times[at] = records[offsets[row]! + 1]!
  }
  for (const [index, endpointNo] of endpointNos.entries()) {
    const [start, end] = [starts[index]!, ends[index]!]
    if (start < end) yield { endpointNo, rows: rows.subarray(start, end), times: times.subarray(start, end) }
  }
}

type OthersByRow = Map<number, Record<number, Other>>

/** Parses the values that are not numbers, by row. Only rows with NaN have such values. */
function othersByRow({ records, offsets, others }: Samples): OthersByRow {
  const byRow: OthersByRow = new Map()
  if (!others) return byRow
  let next = 0
  for (let row = 0; row < offsets.length; row++) {
    const end = offsets[row + 1] ?? records.length
    for (let index = offsets[row]! + recordHead; index < end; index++)
      if (Number.isNaN(records[index]!)) {
        byRow.set(row, JSON.parse(others[next++]!))
        break
      }
  }
  return byRow
}

function pointsOfEndpoint(
  samples: Samples,
  { sets, selectedSeries, bySet }: SampleFormat,
  all: TimedRows,
  others: OthersByRow,
): Map<number, RecentPoints> | undefined {
  const { setIds } = samples
  const setOf = (row: number) => bySet.get(setIds ? setIds[row]! : sets[0]!.setId)!
  const { rows } = all
  const first = setOf(rows[0]!)
  const points = new Map<number, RecentPoints>()
  if (!setIds || rows.every((row) => setIds[row] === setIds[rows[0]!])) {
    const ordered = orderRows(samples, all)
    if (!ordered) return undefined
    const sums = samples.others ? undefined : columnSums(samples, ordered, first.positions)
    for (const [index, column] of first.selectedIndexes.entries())
      points.set(selectedSeries[column]!, {
        times: ordered.times,
        points: () => pointsOf(samples, ordered, others, locationOf(first, index)),
        sums: sums && ((interval) => sums(interval, index)),
      })
    return points
  }
  for (const [column, seriesId] of selectedSeries.entries()) {
    const having = rows.filter((row) => setOf(row).selectedIndexes.includes(column))
    if (having.length === 0) continue
    const ordered = orderRows(samples, { rows: having, times: Float64Array.from(having, timeIn(samples)) })
    if (!ordered) return undefined
    const location = (row: number) => locationOf(setOf(row), setOf(row).selectedIndexes.indexOf(column))
    points.set(seriesId, {
      times: ordered.times,
      points: () => pointsOf(samples, ordered, others, location),
      sums: undefined,
    })
  }
  return points
}

const timeIn =
  ({ records, offsets }: Samples) =>
  (row: number) =>
    records[offsets[row]! + 1]!

/** Sorts by time. If a time occurs twice, the last write wins. Returns undefined if the order of writes is unknown. */
function orderRows(samples: Samples, { rows, times }: TimedRows): TimedRows | undefined {
  if (isAscending(times)) return { rows, times }
  const order = orderOf(times)
  if (order) return { rows: rows.map((_, index) => rows[order[index]!]!), times: reorder(times, order) }
  const { slots, writtenTimes } = samples
  if (!slots || !writtenTimes) return undefined
  const timeOf = timeIn(samples)
  const sorted = rows.toSorted(
    (a, b) => timeOf(a) - timeOf(b) || slots[a]! - slots[b]! || writtenTimes[a]! - writtenTimes[b]! || a - b,
  )
  const last = sorted.filter((row, index) => index + 1 === sorted.length || timeOf(sorted[index + 1]!) !== timeOf(row))
  return { rows: last, times: Float64Array.from(last, timeOf) }
}

/** The position of a series' value in the record and in the sample. */
interface Location {
  position: number
  valueIndex: number
}

const locationOf = ({ positions, valueIndexes }: SelectedOfSet, index: number): Location => ({
  position: positions[index]!,
  valueIndex: valueIndexes[index]!,
})

function pointsOf(
  { records, offsets }: Samples,
  { rows, times }: TimedRows,
  otherValues: OthersByRow,
  location: Location | ((row: number) => Location),
): Points {
  const numbers = new Float64Array(rows.length)
  let others: Map<number, Other> | undefined
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index]!
    const { position, valueIndex } = typeof location === 'function' ? location(row) : location
    const number = records[offsets[row]! + position]!
    numbers[index] = number
    if (!Number.isNaN(number)) continue
    others ??= new Map()
    others.set(index, otherValues.get(row)?.[valueIndex] ?? null)
  }
  return { count: rows.length, times, numbers, ...(others && { others }) }
}

/** Returns the sums of several values of the same rows. They are computed together when they are first needed. */
function columnSums(samples: Samples, rows: TimedRows, positions: number[]) {
  let computed: { interval: Interval; sums: Sum[][] } | undefined
  return (interval: Interval, column: number): Sum[] => {
    if (computed?.interval !== interval) computed = { interval, sums: sumsOf(samples, rows, positions, interval) }
    return computed.sums[column]!
  }
}

/**
 * Sums the values at these positions of the records, without making points. All positions are summed in one pass, because the records of an
 * endpoint are far apart in memory.
 */
function sumsOf(
  { records, offsets }: Samples,
  { rows, times }: TimedRows,
  positions: number[],
  interval: Interval,
): Sum[][] {
  const width = positions.length
  const sums = positions.map((): Sum[] => [])
  const places = Uint32Array.from(positions)
  const totals = new Float64Array(width)
  const counts = new Float64Array(width)
  const minima = new Float64Array(width)
  const maxima = new Float64Array(width)
  for (let index = 0; index < rows.length; ) {
    const start = interval.startOf(times[index]!)
    const end = interval.nextOf(start)
    const first = index
    totals.fill(0)
    counts.fill(0)
    minima.fill(Number.POSITIVE_INFINITY)
    maxima.fill(Number.NEGATIVE_INFINITY)
    for (; index < rows.length && times[index]! < end; index++) {
      const offset = offsets[rows[index]!]!
      for (let column = 0; column < width; column++) {
        const number = records[offset + places[column]!]!
        if (Number.isNaN(number)) continue
        totals[column]! += number
        counts[column]!++
        if (number < minima[column]!) minima[column] = number
        if (number > maxima[column]!) maxima[column] = number
      }
    }
    const scaledSum = (column: number) => {
      const ofInterval = rows.slice(first, index)
      const numbers = Float64Array.from(ofInterval, (row) => records[offsets[row]! + places[column]!]!)
      return scaledSumOf(numbers, 0, numbers.length)
    }
    for (let column = 0; column < width; column++)
      sums[column]!.push({
        start,
        count: counts[column]!,
        sum: totals[column]!,
        ...(!Number.isFinite(totals[column]!) && { scaledSum: scaledSum(column) }),
        min: minima[column]!,
        max: maxima[column]!,
        others: 0,
      })
  }
  return sums
}
