/** The points of one series value in memory, and functions that merge several lists of points. */

/** A value of a point. */
export type Value = number | string | boolean | null

export interface Points {
  count: number
  /** Milliseconds, strictly ascending. */
  times: Float64Array
  /** The values that are numbers. The entry is NaN if `others` has the value. */
  numbers: Float64Array
  /** Values that are not numbers, by index. */
  others?: Map<number, Exclude<Value, number>>
}

export const valueAt = (points: Points, index: number): Value => {
  const number = points.numbers[index]!
  return Number.isNaN(number) ? (points.others?.get(index) ?? null) : number
}

/** Merges lists that are each strictly ascending. If points have the same time, the point of the later list wins. */
export function merge(sources: Points[]): Points {
  const filled = sources.filter(({ count }) => count > 0)
  if (filled.length === 0) return { count: 0, times: new Float64Array(0), numbers: new Float64Array(0) }
  if (filled.length === 1) return filled[0]!
  const byTime = filled.toSorted((a, b) => a.times[0]! - b.times[0]!)
  return areDisjoint(byTime) ? concatenate(byTime) : interleave(filled)
}

const areDisjoint = (sources: Points[]) =>
  sources.every(
    (one, index) => index === 0 || sources[index - 1]!.times[sources[index - 1]!.count - 1]! < one.times[0]!,
  )

/** Concatenates lists that do not overlap, such as chunks of different days. */
function concatenate(sources: Points[]): Points {
  const merged = emptyOf(sources)
  const others = new Map<number, Exclude<Value, number>>()
  let total = 0
  for (const { count, times, numbers, others: sourceOthers } of sources) {
    merged.times.set(times.subarray(0, count), total)
    merged.numbers.set(numbers.subarray(0, count), total)
    if (sourceOthers) for (const [index, value] of sourceOthers) others.set(total + index, value)
    total += count
  }
  return { ...merged, count: total, ...(others.size > 0 && { others }) }
}

function interleave(sources: Points[]): Points {
  const merged = emptyOf(sources)
  const others = new Map<number, Exclude<Value, number>>()
  const next = sources.map(() => 0)
  let total = 0
  for (;;) {
    let [chosen, time] = [-1, Number.POSITIVE_INFINITY]
    for (let source = 0; source < sources.length; source++) {
      const index = next[source]!
      if (index >= sources[source]!.count) continue
      const candidate = sources[source]!.times[index]!
      // If times are equal, the later list wins. The points of the other lists are skipped below.
      if (candidate <= time) [chosen, time] = [source, candidate]
    }
    if (chosen < 0) break
    const from = sources[chosen]!
    merged.times[total] = time
    merged.numbers[total] = from.numbers[next[chosen]!]!
    const other = from.others?.get(next[chosen]!)
    if (other !== undefined) others.set(total, other)
    total++
    for (let source = 0; source < sources.length; source++)
      if (next[source]! < sources[source]!.count && sources[source]!.times[next[source]!] === time) next[source]!++
  }
  return {
    count: total,
    times: merged.times.subarray(0, total),
    numbers: merged.numbers.subarray(0, total),
    ...(others.size > 0 && { others }),
  }
}

function emptyOf(sources: Points[]) {
  const length = sources.reduce((sum, { count }) => sum + count, 0)
  return { times: new Float64Array(length), numbers: new Float64Array(length) }
}

/** Returns the points between two times, both included. */
export function between(points: Points, from: number, to: number): Points {
  const first = firstFrom(points, from)
  const end = firstFrom(points, to + 1)
  if (first === 0 && end === points.count) return points
  const others = points.others && sliceOthers(points.others, first, end)
  return {
    count: Math.max(0, end - first),
    times: points.times.subarray(first, end),
    numbers: points.numbers.subarray(first, end),
    ...(others && others.size > 0 && { others }),
  }
}

function sliceOthers<V>(all: Map<number, V>, first: number, end: number): Map<number, V> {
  const part = new Map<number, V>()
  for (const [index, value] of all) if (index >= first && index < end) part.set(index - first, value)
  return part
}

/** Returns the index of the first point at this time or later. */
export function firstFrom({ times, count }: Pick<Points, 'times' | 'count'>, time: number): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (times[middle]! < time) low = middle + 1
    else high = middle
  }
  return low
}
