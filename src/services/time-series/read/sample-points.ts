/** Converts samples, as `store/reading.ts` returns them, to points of series. */
import { between, type Points, type Value } from '../points.ts'
import type { SeriesSet } from '../store/numbers.ts'
import { readsSingleColumns, type SampleRows } from '../store/reading.ts'
import type { Span } from '../times.ts'
import { isAscending, orderOf, reorder } from './time-order.ts'

/** Describes which values of which sets a query reads. */
export interface SampleFormat {
  sets: SeriesSet[]
  /** The selected series, in the order of their columns. */
  wanted: number[]
  bySet: Map<number, SelectedOfSet>
  /** Maximum number of values that are read of a sample. */
  width: number
}

interface SelectedOfSet {
  /** Indexes in `wanted`. */
  wanted: number[]
  /** Index of each value in the sample. */
  valueIndexes: number[]
}

export function sampleFormat(all: SeriesSet[], wanted: number[]): SampleFormat {
  const bySet = new Map<number, SelectedOfSet>()
  const indexOf = new Map(wanted.map((seriesId, index) => [seriesId, index]))
  for (const { setId, seriesIds } of all) {
    const selected: SelectedOfSet = { wanted: [], valueIndexes: [] }
    for (let valueIndex = 0; valueIndex < seriesIds.length; valueIndex++) {
      const index = indexOf.get(seriesIds[valueIndex]!)
      if (index === undefined) continue
      selected.wanted.push(index)
      selected.valueIndexes.push(valueIndex)
    }
    if (selected.wanted.length > 0) bySet.set(setId, selected)
  }
  const sets = all.filter(({ setId }) => bySet.has(setId))
  const picked = readsSingleColumns(sets, wanted)
  const widths = sets.map(({ setId, seriesIds }) => (picked ? bySet.get(setId)!.wanted : seriesIds).length)
  return { sets, wanted, bySet, width: Math.max(1, ...widths) }
}

type Other = Exclude<Value, number>

/** Values of one series, for one endpoint, in arrival order. */
interface Run {
  times: number[]
  numbers: number[]
  others: Map<number, Other> | undefined
  /** Slot and number of each value, if they were read. */
  slots: number[]
  writtens: number[]
  isAscending: boolean
}

const newRun = (): Run => ({ times: [], numbers: [], others: undefined, slots: [], writtens: [], isAscending: true })

export const countOf = (rows: SampleRows | undefined) => rows?.times.length ?? 0

/** Returns the first and the last time. */
export function rangeOf({ times }: SampleRows): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const time of times) {
    if (time < from) from = time
    if (time > to) to = time
  }
  return { from, to }
}

/** Points by endpoint and series. */
export type SamplePoints = Map<number, Map<number, Points>>

/** Returns undefined if a series has a time twice and the rows lack the order of writes. */
export function samplePoints(rows: SampleRows, format: SampleFormat, task: Span & { endpointNos: number[] }) {
  const simple = numberColumns(rows, format)
  if (simple) {
    const points = new Map([...simple].map(([seriesId, own]) => [seriesId, between(own, task.from, task.to)]))
    return new Map([[task.endpointNos[0]!, points]])
  }
  const points: SamplePoints = new Map()
  for (const [endpointNo, runs] of runsOf(rows, format, task)) {
    const bySeries = new Map<number, Points>()
    for (const [index, run] of runs.entries()) {
      if (!run) continue
      const runPoints = run.isAscending ? pointsOf(run) : sortRun(run)
      if (!runPoints) return undefined
      bySeries.set(format.wanted[index]!, runPoints)
    }
    points.set(endpointNo, bySeries)
  }
  return points
}

/** Fast path: numbers of one endpoint and one set need at most sorting. */
function numberColumns({ endpointNos, times, setIds, others, picked, arrays }: SampleRows, format: SampleFormat) {
  if (endpointNos || setIds || others || arrays) return undefined
  const order = isAscending(times) ? 'unchanged' : orderOf(times)
  if (!order) return undefined
  const ordered = (numbers: Float64Array) => (order === 'unchanged' ? numbers : reorder(numbers, order))
  const { wanted } = format.bySet.get(format.sets[0]!.setId)!
  const columns = { count: times.length, times: ordered(times) }
  return new Map(
    wanted.map((column): [number, Points] => [
      format.wanted[column]!,
      { ...columns, numbers: ordered(picked[column]!) },
    ]),
  )
}

function runsOf(
  rows: SampleRows,
  format: SampleFormat,
  { endpointNos: [onlyEndpoint], from, to }: Span & { endpointNos: number[] },
) {
  const { times, endpointNos, setIds, slots, writtens, others } = rows
  const runs = new Map<number, (Run | undefined)[]>()
  const next = valuesIn(rows)
  const onlySet = setIds ? undefined : format.bySet.get(format.sets[0]!.setId)!
  let otherIndex = 0
  let [currentNo, currentRuns]: [number, (Run | undefined)[]] = [Number.NaN, []]
  for (let row = 0; row < times.length; row++) {
    const ofSet = onlySet ?? format.bySet.get(setIds![row]!)!
    const numbers = next(ofSet)
    const otherValues = numbers.hasOther ? (JSON.parse(others![otherIndex++]!) as Record<number, Other>) : undefined
    const time = times[row]!
    if (time < from || time > to) continue
    const endpointNo = endpointNos ? endpointNos[row]! : onlyEndpoint!
    if (endpointNo !== currentNo) {
      currentRuns = runs.get(endpointNo) ?? []
      if (currentRuns.length === 0) runs.set(endpointNo, currentRuns)
      currentNo = endpointNo
    }
    for (let index = 0; index < ofSet.wanted.length; index++) {
      const run = currentRuns[ofSet.wanted[index]!] ?? newRun()
      if (run.times.length === 0) currentRuns[ofSet.wanted[index]!] = run
      else if (run.times[run.times.length - 1]! >= time) run.isAscending = false
      const number = numbers.values[index]!
      if (Number.isNaN(number)) {
        run.others ??= new Map()
        run.others.set(run.times.length, otherValues?.[ofSet.valueIndexes[index]!] ?? null)
      }
      run.times.push(time)
      run.numbers.push(number)
      if (!slots) continue
      run.slots.push(slots[row]!)
      run.writtens.push(writtens![row]!)
    }
  }
  return runs
}

/** Bytes before the values of an array; each value has a length of four bytes before it. */
const arrayHead = 20

/**
 * Returns a function that reads the selected values of the next sample and whether it has values that are not numbers.
 */
function valuesIn({ arrays, picked }: SampleRows) {
  const next = picked.map(() => 0)
  const view = arrays && new DataView(arrays.buffer, arrays.byteOffset, arrays.length)
  const result = { values: [] as number[], hasOther: false }
  let offset = 0
  return ({ wanted, valueIndexes }: SelectedOfSet) => {
    result.hasOther = false
    if (view) {
      const count = view.getInt32(offset + 12)
      const values = offset + arrayHead + 4
      for (let index = 0; index < count; index++)
        if (Number.isNaN(view.getFloat64(values + index * 12))) result.hasOther = true
      for (let index = 0; index < wanted.length; index++)
        result.values[index] = view.getFloat64(values + valueIndexes[index]! * 12)
      offset += arrayHead + count * 12
    } else
      for (let index = 0; index < wanted.length; index++) {
        const column = wanted[index]!
        const number = picked[column]![next[column]!++]!
        result.values[index] = number
        if (Number.isNaN(number)) result.hasOther = true
      }
    return result
  }
}

const pointsOf = ({ times, numbers, others }: Run): Points => ({
  count: times.length,
  times: Float64Array.from(times),
  numbers: Float64Array.from(numbers),
  ...(others && { others }),
})

/** Sorts by time; the last write wins. Returns undefined if a time occurs twice and the order of writes is unknown. */
function sortRun({ times, numbers, others, slots, writtens }: Run): Points | undefined {
  const isLater = (a: number, b: number) =>
    times[a]! - times[b]! || slots[a]! - slots[b]! || writtens[a]! - writtens[b]!
  const isKnown = slots.length > 0
  const order = orderOf(times) ?? (isKnown ? Uint32Array.from(times.keys()).sort(isLater) : undefined)
  if (!order) return undefined
  const sorted: Run = newRun()
  for (const index of order) {
    const isSame = sorted.times.length > 0 && sorted.times[sorted.times.length - 1] === times[index]
    const target = isSame ? sorted.times.length - 1 : sorted.times.length
    sorted.times[target] = times[index]!
    sorted.numbers[target] = numbers[index]!
    sorted.others?.delete(target)
    const other = others?.get(index)
    if (other === undefined) continue
    sorted.others ??= new Map()
    sorted.others.set(target, other)
  }
  if (sorted.others?.size === 0) sorted.others = undefined
  return pointsOf(sorted)
}
