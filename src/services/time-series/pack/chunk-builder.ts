/** Builds chunks from samples, which must be ordered by endpoint, then by time, then by the order of writes. */
import type { Points, Value } from '../points.ts'
import { pack } from './chunk-codec.ts'

export interface Chunk {
  endpointNo: number
  seriesId: number
  day: number
  part: number
  points: Points
  /** True if the chunk ended before the end of its day, so that more points of the day may follow. */
  isContinued: boolean
  /** Approximate length of values that are not numbers. */
  textLength: number
}

export interface PackedChunk {
  endpointNo: number
  seriesId: number
  day: number
  slot: number
  part: number
  n: number
  tMin: number
  tMax: number
  vMin: number | null
  vMax: number | null
  vSum: number | null
  data: Buffer
}

export const dayMs = 86_400_000
export const dayOf = (time: number) => Math.floor(time / dayMs)
/**
 * Maximum number of points in a chunk: a day with one value every ten seconds. A query for a part of a busier day then need not unpack the
 * whole day.
 */
export const pointsMax = 8640
/** Maximum length of all texts in a chunk. A single text may have 65,536 characters. */
export const textLengthMax = 1_000_000

interface Run {
  day: number
  part: number
  times: number[]
  numbers: number[]
  others: Map<number, Exclude<Value, number>> | undefined
  textLength: number
}

const newRun = (day: number, part: number): Run => ({
  day,
  part,
  times: [],
  numbers: [],
  others: undefined,
  textLength: 0,
})

/** Number of characters that take as much memory as a point. */
const charactersPerPoint = 8

/** Builds the chunks of one endpoint. `add` must be called in time order. If two calls have the same time, the later call wins. */
export function createBuilder(endpointNo: number, emit: (chunk: Chunk) => void) {
  const runs = new Map<number, Run>()

  /** Number of points in memory. Texts are converted to a number of points. */
  let pointsInMemory = 0

  function finish(seriesId: number, { day, part, times, numbers, others, textLength }: Run, isContinued: boolean) {
    if (times.length === 0) return
    const points: Points = {
      count: times.length,
      times: Float64Array.from(times),
      numbers: Float64Array.from(numbers),
      ...(others && others.size > 0 && { others }),
    }
    pointsInMemory -= times.length + textLength / charactersPerPoint
    emit({ endpointNo, seriesId, day, part, points, isContinued, textLength })
  }

  const isFull = ({ times, textLength }: Run) => times.length >= pointsMax || textLength >= textLengthMax

  function runFor(seriesId: number, time: number): Run {
    const day = dayOf(time)
    const current = runs.get(seriesId)
    const isSameDay = current?.day === day
    if (current && isSameDay && (!isFull(current) || current.times.at(-1) === time)) return current
    if (current) finish(seriesId, current, isSameDay)
    const run = newRun(day, current && isSameDay ? current.part + 1 : 0)
    runs.set(seriesId, run)
    return run
  }

  return {
    get pointsInMemory() {
      return pointsInMemory
    },
    add(seriesId: number, time: number, value: Value) {
      const run = runFor(seriesId, time)
      const last = run.times.length - 1
      const index = last >= 0 && run.times[last] === time ? last : last + 1
      if (index > last) pointsInMemory++
      run.times[index] = time
      run.others?.delete(index)
      if (typeof value === 'number') run.numbers[index] = value
      else {
        run.numbers[index] = Number.NaN
        run.others ??= new Map()
        run.others.set(index, value)
        const length = typeof value === 'string' ? value.length : 0
        run.textLength += length
        pointsInMemory += length / charactersPerPoint
      }
    },
    /** Emits all points so far to free memory. The next point must have another time, because equal times must be in one chunk. */
    flush() {
      for (const [seriesId, run] of runs) {
        if (run.times.length === 0) continue
        finish(seriesId, run, true)
        runs.set(seriesId, newRun(run.day, run.part + 1))
      }
    },
    finish() {
      for (const [seriesId, run] of runs) finish(seriesId, run, false)
      runs.clear()
    },
  }
}

export function packChunk({ points, isContinued: _, textLength: __, ...chunk }: Chunk, slot: number): PackedChunk {
  const { count, times, numbers } = points
  let [sum, hasNumbers, least, most] = [0, false, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let index = 0; index < count; index++) {
    const number = numbers[index]!
    if (Number.isNaN(number)) continue
    hasNumbers = true
    sum += number
    if (number < least) least = number
    if (number > most) most = number
  }
  return {
    ...chunk,
    slot,
    n: count,
    tMin: times[0]!,
    tMax: times[count - 1]!,
    vMin: hasNumbers ? least : null,
    vMax: hasNumbers ? most : null,
    vSum: hasNumbers && Number.isFinite(sum) ? sum : null,
    data: pack(points),
  }
}
