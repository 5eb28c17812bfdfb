/** From samples in the order of endpoint, time and writing to chunks: the part of packing that knows no database. */
import { type Points, pack, type Value } from './chunk.ts'

export interface Chunk {
  endpointNo: number
  seriesId: number
  day: number
  part: number
  points: Points
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
/** A day of one value every ten seconds; reading a part of a busier day need not unpack all of it. */
export const pointsMax = 8640

interface Run {
  day: number
  part: number
  times: number[]
  numbers: number[]
  others: Map<number, Exclude<Value, number>> | undefined
}

/** Of one endpoint. `add` in the order of time and writing: of two with the same time the later call counts. */
export function createBuilder(endpointNo: number, done: (chunk: Chunk) => void) {
  const runs = new Map<number, Run>()

  function finish(seriesId: number, { day, part, times, numbers, others }: Run) {
    const points: Points = {
      count: times.length,
      times: Float64Array.from(times),
      numbers: Float64Array.from(numbers),
      ...(others && others.size > 0 && { others }),
    }
    done({ endpointNo, seriesId, day, part, points })
  }

  function runFor(seriesId: number, time: number): Run {
    const day = dayOf(time)
    const known = runs.get(seriesId)
    if (known && known.day === day && (known.times.length < pointsMax || known.times.at(-1) === time)) return known
    if (known) finish(seriesId, known)
    const part = known && known.day === day ? known.part + 1 : 0
    const run: Run = { day, part, times: [], numbers: [], others: undefined }
    runs.set(seriesId, run)
    return run
  }

  return {
    add(seriesId: number, time: number, value: Value) {
      const run = runFor(seriesId, time)
      const last = run.times.length - 1
      const at = last >= 0 && run.times[last] === time ? last : last + 1
      run.times[at] = time
      run.others?.delete(at)
      if (typeof value === 'number') run.numbers[at] = value
      else {
        run.numbers[at] = Number.NaN
        run.others ??= new Map()
        run.others.set(at, value)
      }
    },
    finish() {
      for (const [seriesId, run] of runs) finish(seriesId, run)
      runs.clear()
    },
  }
}

export function packed({ points, ...of }: Chunk, slot: number): PackedChunk {
  const { count, times, numbers } = points
  let [sum, some, least, most] = [0, false, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let index = 0; index < count; index++) {
    const number = numbers[index]!
    if (Number.isNaN(number)) continue
    some = true
    sum += number
    if (number < least) least = number
    if (number > most) most = number
  }
  return {
    ...of,
    slot,
    n: count,
    tMin: times[0]!,
    tMax: times[count - 1]!,
    vMin: some ? least : null,
    vMax: some ? most : null,
    vSum: some && Number.isFinite(sum) ? sum : null,
    data: pack(points),
  }
}
