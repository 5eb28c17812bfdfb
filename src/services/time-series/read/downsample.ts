/** Fewer points that look the same on a chart. */
import type { Points } from '../points.ts'
import type { Span } from '../times.ts'
import type { Changing } from './aggregate.ts'
import type { Piece } from './pieces.ts'

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

/**
 * Points of a span of time, of which so many are to be left in the end. Where they become too many they are thinned out: of
 * each of four times as many equal parts of time the least and the greatest stay, which no chart of so few points can do without.
 */
function createThinning(span: Span, most: number) {
  const parts = most * partsForEach
  const width = Math.max(1, (span.to - span.from + 1) / parts)
  let times: number[] = []
  let numbers: number[] = []

  function thin() {
    const [keptTimes, keptNumbers]: [number[], number[]] = [[], []]
    const keep = (index: number) => {
      keptTimes.push(times[index]!)
      keptNumbers.push(numbers[index]!)
    }
    for (let from = 0; from < times.length; ) {
      const end = span.from + (Math.floor((times[from]! - span.from) / width) + 1) * width
      let [to, least, greatest] = [from, from, from]
      for (; to < times.length && times[to]! < end; to++) {
        if (numbers[to]! < numbers[least]!) least = to
        if (numbers[to]! > numbers[greatest]!) greatest = to
      }
      // The very first and the very last are what the chart begins and ends with.
      const kept = [from === 0 ? 0 : least, least, greatest, to === times.length ? to - 1 : greatest]
      for (const index of [...new Set(kept)].sort((a, b) => a - b)) keep(index)
      from = Math.max(to, from + 1)
    }
    times = keptTimes
    numbers = keptNumbers
  }

  return {
    /** Later ones than those before. */
    add(points: Points) {
      for (let index = 0; index < points.count; index++) {
        if (Number.isNaN(points.numbers[index]!)) continue
        times.push(points.times[index]!)
        numbers.push(points.numbers[index]!)
      }
      if (times.length > Math.max(keptAtOnce, parts * 4)) thin()
    },
    points: (): Points =>
      downsample({ count: times.length, times: Float64Array.from(times), numbers: Float64Array.from(numbers) }, most),
  }
}

/** Of each value of each series at most so many points, all at the end. */
export function createFewer(span: Span, most: number): Changing {
  const known = new Map<string, { piece: Piece; columns: Map<string, ReturnType<typeof createThinning>> }>()
  return {
    add(piece) {
      const key = `${piece.endpointNo} ${piece.series.name}`
      const own = known.get(key) ?? { piece, columns: new Map() }
      known.set(key, own)
      for (const { name, points } of piece.columns) {
        const column = own.columns.get(name) ?? createThinning(span, most)
        own.columns.set(name, column)
        column.add(points)
      }
      return undefined
    },
    *end() {
      for (const { piece, columns } of known.values()) {
        const fewer = [...columns].map(([name, column]) => ({ name, points: column.points() }))
        const filled = fewer.filter(({ points }) => points.count > 0)
        if (filled.length > 0) yield { ...piece, columns: filled }
      }
      known.clear()
    },
  }
}

const partsForEach = 4
const keptAtOnce = 100_000
