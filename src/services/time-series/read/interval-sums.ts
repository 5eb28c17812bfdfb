/** Sums of points by interval, and how they are combined. */
import { type Points, type Value, valueAt } from '../points.ts'
import type { Interval } from './intervals.ts'

export const aggregates = ['avg', 'min', 'max', 'sum', 'count', 'first', 'last'] as const
export type Aggregate = (typeof aggregates)[number]

export interface Sum {
  /** Start of the interval. */
  start: number
  /** Number of values that are numbers. */
  count: number
  sum: number
  /** The sum times `downScale`. Present if the sum of some of the values exceeds the range of numbers. */
  scaledSum?: number
  min: number
  max: number
  /** Number of texts and booleans; nulls are not counted. */
  others: number
  /** The first point of the interval. Absent if only sums of chunks are known. */
  first?: { time: number; value: Value }
  last?: { time: number; value: Value }
}

/** Returns sums in time order, without empty intervals. */
export function sumsOf(points: Points, interval: Interval): Sum[] {
  const { count, times } = points
  const sums: Sum[] = []
  for (let from = 0; from < count; ) {
    const start = interval.startOf(times[from]!)
    const end = interval.nextOf(start)
    let to = from + 1
    while (to < count && times[to]! < end) to++
    sums.push(sumOf(points, start, from, to))
    from = to
  }
  return sums
}

function sumOf(points: Points, start: number, from: number, to: number): Sum {
  const { times, numbers, others } = points
  let [sum, count, min, max] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let index = from; index < to; index++) {
    const number = numbers[index]!
    if (Number.isNaN(number)) continue
    sum += number
    count++
    if (number < min) min = number
    if (number > max) max = number
  }
  return {
    start,
    count,
    sum,
    ...(!Number.isFinite(sum) && { scaledSum: scaledSumOf(numbers, from, to) }),
    min,
    max,
    others: others && count < to - from ? countNotNull(others, from, to) : 0,
    first: { time: times[from]!, value: valueAt(points, from) },
    last: { time: times[to - 1]!, value: valueAt(points, to - 1) },
  }
}

/** A power of two by which large numbers are multiplied, so that no sum of them exceeds the range of numbers. */
const downScale = 2 ** -64

export function scaledSumOf(numbers: Float64Array, from: number, to: number): number {
  let sum = 0
  for (let index = from; index < to; index++) {
    const number = numbers[index]!
    if (!Number.isNaN(number)) sum += number * downScale
  }
  return sum
}

const scaledOf = ({ sum, scaledSum }: Sum) => scaledSum ?? sum * downScale

function countNotNull(others: NonNullable<Points['others']>, from: number, to: number): number {
  let count = 0
  for (let index = from; index < to; index++) if ((others.get(index) ?? null) !== null) count++
  return count
}

/** Combines two sums of the same interval. */
const addSums = (a: Sum, b: Sum): Sum => ({
  start: a.start,
  count: a.count + b.count,
  sum: a.sum + b.sum,
  ...(!Number.isFinite(a.sum + b.sum) && { scaledSum: scaledOf(a) + scaledOf(b) }),
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
  others: a.others + b.others,
  ...(a.first && b.first && { first: a.first.time <= b.first.time ? a.first : b.first }),
  ...(a.last && b.last && { last: a.last.time >= b.last.time ? a.last : b.last }),
})

/** Merges lists of sums that are in order. */
export function mergeSums(...lists: Sum[][]): Sum[] {
  const filled = lists.filter((list) => list.length > 0)
  return filled.length <= 1 ? (filled[0] ?? []) : sortAndCombine(filled.flat())
}

/** Sorts sums by time and combines the sums of the same interval. */
export function sortAndCombine(all: Sum[]): Sum[] {
  const sums: Sum[] = []
  for (const sum of all.toSorted((a, b) => a.start - b.start)) {
    const previous = sums.at(-1)
    if (previous?.start === sum.start) sums[sums.length - 1] = addSums(previous, sum)
    else sums.push(sum)
  }
  return sums
}

/** Returns the aggregate of an interval. Averages, sums and extremes consider only numbers, and are null without numbers. */
function valueOfSum(intervalSum: Sum, aggregate: Aggregate): Value {
  const { count, sum, scaledSum, min, max, others, first, last } = intervalSum
  if (aggregate === 'first') return first?.value ?? null
  if (aggregate === 'last') return last?.value ?? null
  if (aggregate === 'count') return count + others
  if (count === 0) return null
  if (aggregate === 'sum') return finite(scaledSum === undefined ? sum : scaledSum / downScale)
  if (aggregate === 'avg') return finite(scaledSum === undefined ? sum / count : scaledSum / count / downScale)
  return aggregate === 'min' ? min : max
}

/** Returns null for infinity, which JSON cannot represent. */
const finite = (number: number) => (Number.isFinite(number) ? number : null)

export function pointsOfSums(sums: Sum[], aggregate: Aggregate): Points {
  const others = new Map<number, Exclude<Value, number>>()
  const numbers = Float64Array.from(sums, (sum, index) => {
    const value = valueOfSum(sum, aggregate)
    if (typeof value === 'number') return value
    others.set(index, value)
    return Number.NaN
  })
  const times = Float64Array.from(sums, ({ start }) => start)
  return { count: sums.length, times, numbers, ...(others.size > 0 && { others }) }
}
