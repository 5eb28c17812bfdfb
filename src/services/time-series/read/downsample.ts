/** Reduces points to fewer points that look the same on a chart. */
import type { Points } from '../points.ts'
import type { Span } from '../times.ts'
import type { Reducer } from './aggregate.ts'
import type { SeriesFragment } from './series-fragments.ts'

/**
 * Downsamples points (largest triangle three buckets): from each bucket, keeps the point that forms the largest triangle with the
 * previously chosen point and the mean of the next bucket. Keeps the first and the last point; drops values that are not numbers.
 */
export function downsample(all: Points, pointsMax: number): Points {
  const points = all.others ? onlyNumbers(all) : all
  const { count, times, numbers } = points
  if (count <= pointsMax || pointsMax < 3) return points
  const chosen = [0]
  const width = (count - 2) / (pointsMax - 2)
  let before = 0
  for (let bucket = 0; bucket < pointsMax - 2; bucket++) {
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
      const triangle = Math.abs(
        (times[before]! - meanTime) * (numbers[index]! - numbers[before]!) -
          (times[before]! - times[index]!) * (meanNumber - numbers[before]!),
      )
      if (triangle > area) [best, area] = [index, triangle]
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
  const indexes: number[] = []
  for (let index = 0; index < count; index++) if (!Number.isNaN(numbers[index]!)) indexes.push(index)
  return {
    count: indexes.length,
    times: Float64Array.from(indexes, (index) => times[index]!),
    numbers: Float64Array.from(indexes, (index) => numbers[index]!),
  }
}

/**
 * Collects points of a time range. If there are too many for memory, the range is divided into `4 * pointsMax` equal parts, and only the
 * minimum and maximum of each part are kept. These are still more points than the chart can show.
 */
function createThinner(span: Span, pointsMax: number) {
  const parts = pointsMax * partsPerPoint
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
      // The very first and the very last point are kept, because the chart begins and ends with them.
      const indexes = [from === 0 ? 0 : least, least, greatest, to === times.length ? to - 1 : greatest]
      for (const index of [...new Set(indexes)].sort((a, b) => a - b)) keep(index)
      from = Math.max(to, from + 1)
    }
    times = keptTimes
    numbers = keptNumbers
  }

  return {
    /** Adds points. They must be later than all points that were added before. */
    add(points: Points) {
      for (let index = 0; index < points.count; index++) {
        if (Number.isNaN(points.numbers[index]!)) continue
        times.push(points.times[index]!)
        numbers.push(points.numbers[index]!)
      }
      if (times.length > Math.max(pointsInMemory, parts * 4)) thin()
    },
    points: (): Points =>
      downsample(
        { count: times.length, times: Float64Array.from(times), numbers: Float64Array.from(numbers) },
        pointsMax,
      ),
  }
}

/** Downsamples each value of each series to at most `pointsMax` points. `end` returns the points. */
export function createDownsampler(span: Span, pointsMax: number): Reducer {
  const bySeries = new Map<
    string,
    { fragment: SeriesFragment; columns: Map<string, ReturnType<typeof createThinner>> }
  >()
  return {
    add(fragment) {
      const key = `${fragment.endpointNo} ${fragment.series.name}`
      const collected = bySeries.get(key) ?? { fragment, columns: new Map() }
      bySeries.set(key, collected)
      for (const { name, points } of fragment.columns) {
        const column = collected.columns.get(name) ?? createThinner(span, pointsMax)
        collected.columns.set(name, column)
        column.add(points)
      }
      return undefined
    },
    *end() {
      for (const { fragment, columns } of bySeries.values()) {
        const fewer = [...columns].map(([name, column]) => ({ name, points: column.points() }))
        const filled = fewer.filter(({ points }) => points.count > 0)
        if (filled.length > 0) yield { ...fragment, columns: filled }
      }
      bySeries.clear()
    },
  }
}

const partsPerPoint = 4
const pointsInMemory = 100_000
