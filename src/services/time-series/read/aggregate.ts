/** One value for each part of time, and fewer points that look the same on a chart. */
import { type Points, type Value, valueAt } from '../pack/chunk.ts'
import type { Interval } from './intervals.ts'

export const aggregates = ['avg', 'min', 'max', 'sum', 'count', 'first', 'last'] as const
export type Aggregate = (typeof aggregates)[number]

/** Parts without points are left out. Averages, sums and extremes are of numbers; a part without numbers has null there. */
export function aggregate(points: Points, interval: Interval, wanted: Aggregate): Points {
  const times: number[] = []
  const values: Value[] = []
  for (let from = 0; from < points.count; ) {
    const start = interval.startOf(points.times[from]!)
    const end = interval.nextOf(start)
    let to = from + 1
    while (to < points.count && points.times[to]! < end) to++
    times.push(start)
    values.push(valueOfPart(points, from, to, wanted))
    from = to
  }
  return pointsOf(times, values)
}

function valueOfPart(points: Points, from: number, to: number, wanted: Aggregate): Value {
  if (wanted === 'first') return valueAt(points, from)
  if (wanted === 'last') return valueAt(points, to - 1)
  const { numbers, others } = points
  let [sum, count, least, most] = [0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let index = from; index < to; index++) {
    const number = numbers[index]!
    if (Number.isNaN(number)) continue
    sum += number
    count++
    if (number < least) least = number
    if (number > most) most = number
  }
  if (wanted === 'count') return count + (others ? notNull(others, from, to) : 0)
  if (count === 0) return null
  if (wanted === 'sum') return finite(sum)
  if (wanted === 'avg') return finite(sum / count)
  return wanted === 'min' ? least : most
}

/** Beyond all numbers there is nothing that JSON could say. */
const finite = (number: number) => (Number.isFinite(number) ? number : null)

function notNull(others: NonNullable<Points['others']>, from: number, to: number): number {
  let count = 0
  for (const [index, value] of others) if (index >= from && index < to && value !== null) count++
  return count
}

function pointsOf(times: number[], values: Value[]): Points {
  const others = new Map<number, Exclude<Value, number>>()
  const numbers = Float64Array.from(values, (value, index) => {
    if (typeof value === 'number') return value
    others.set(index, value)
    return Number.NaN
  })
  return { count: times.length, times: Float64Array.from(times), numbers, ...(others.size > 0 && { others }) }
}

/**
 * Largest triangle three buckets: of each part the point that stands out most between the one chosen before and the mean of
 * the next part. The first and the last stay. Only of numbers: what is none has no place on such a chart.
 */
export function downsample(all: Points, most: number): Points {
  const points = all.others ? onlyNumbers(all) : all
  const { count, times, numbers } = points
  if (count <= most || most < 3) return points
  const chosen = [0]
  const width = (count - 2) / (most - 2)
  let before = 0
  for (let bucket = 0; bucket < most - 2; bucket++) {
    const from = Math.floor(bucket * width) + 1
    const to = Math.floor((bucket + 1) * width) + 1
    const nextTo = Math.min(Math.floor((bucket + 2) * width) + 1, count)
    let [meanTime, meanNumber] = [0, 0]
    for (let index = to; index < nextTo; index++) {
      meanTime += times[index]!
      meanNumber += numbers[index]!
    }
    meanTime /= nextTo - to
    meanNumber /= nextTo - to
    let [best, area] = [from, -1]
    for (let index = from; index < to; index++) {
      const own = Math.abs(
        (times[before]! - meanTime) * (numbers[index]! - numbers[before]!) -
          (times[before]! - times[index]!) * (meanNumber - numbers[before]!),
      )
      if (own > area) [best, area] = [index, own]
    }
    chosen.push(best)
    before = best
  }
  chosen.push(count - 1)
  return {
    count: chosen.length,
    times: Float64Array.from(chosen, (index) => times[index]!),
    numbers: Float64Array.from(chosen, (index) => numbers[index]!),
  }
}

function onlyNumbers({ count, times, numbers }: Points): Points {
  const kept: number[] = []
  for (let index = 0; index < count; index++) if (!Number.isNaN(numbers[index]!)) kept.push(index)
  return {
    count: kept.length,
    times: Float64Array.from(kept, (index) => times[index]!),
    numbers: Float64Array.from(kept, (index) => numbers[index]!),
  }
}
