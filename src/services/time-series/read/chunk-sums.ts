/**
 * Sums of packed points without making points of them: whole numbers are added up before they are divided, and where sampling is
 * regular no time is written out. A point takes 13 ns instead of 27.
 */

import { readVarint } from '../pack/bit-blocks.ts'
import { beginReading, isOfNumbers, passPlain, regularTimes, unpackTimes, unpackWholes } from '../pack/chunk-codec.ts'
import type { Points } from '../points.ts'
import type { Span } from '../times.ts'
import type { Sum } from './interval-sums.ts'
import type { Interval } from './intervals.ts'

/** For one chunk at a time. */
let wholes = new Float64Array(4096)
let times = new Float64Array(4096)

/**
 * Undefined where its points have to be unpacked: it holds anything but whole numbers, or one of the other points may be of the
 * same time and count instead.
 */
export function sumsOfPacked(data: Uint8Array, interval: Interval, span: Span, beside?: Points): Sum[] | undefined {
  if (!isOfNumbers(data)) return undefined
  const reader = beginReading(data)
  const count = readVarint(reader)
  if (wholes.length < count) {
    wholes = new Float64Array(count * 2)
    times = new Float64Array(count * 2)
  }
  const placed = regularTimes(reader, count) ?? unpackTimes(reader, count, times)
  if (passPlain(reader)) return undefined
  const isRegular = !(placed instanceof Float64Array)
  const first = isRegular ? placed.first : placed[0]!
  const last = isRegular ? placed.first + (count - 1) * placed.step : placed[count - 1]!
  if (beside && beside.count > 0 && beside.times[0]! <= last && beside.times[beside.count - 1]! >= first)
    return undefined
  const power = unpackWholes(reader, count, wholes)
  return isRegular
    ? sumsBySteps(placed, count, interval, span, power)
    : sumsByTime(placed, count, interval, span, power)
}

function sumsByTime(placed: Float64Array, count: number, interval: Interval, { from, to }: Span, power: number) {
  const sums: Sum[] = []
  let place = 0
  while (place < count && placed[place]! < from) place++
  while (place < count && placed[place]! <= to) {
    const start = interval.startOf(placed[place]!)
    const last = Math.min(interval.nextOf(start) - 1, to)
    let end = place + 1
    while (end < count && placed[end]! <= last) end++
    sums.push(sumOfWholes(start, place, end, power))
    place = end
  }
  return sums
}

interface Steps {
  first: number
  step: number
}

function sumsBySteps({ first, step }: Steps, count: number, interval: Interval, { from, to }: Span, power: number) {
  const sums: Sum[] = []
  /** How many of them are not later. */
  const until = (time: number) => {
    if (time < first) return 0
    return step === 0 ? count : Math.min(count, Math.floor((time - first) / step) + 1)
  }
  const stop = until(to)
  for (let place = until(from - 1); place < stop; ) {
    const start = interval.startOf(first + place * step)
    const end = Math.min(until(interval.nextOf(start) - 1), stop)
    sums.push(sumOfWholes(start, place, end, power))
    place = end
  }
  return sums
}

function sumOfWholes(start: number, from: number, to: number, power: number): Sum {
  const all = wholes
  let sum = 0
  let least = all[from]!
  let most = least
  for (let place = from; place < to; place++) {
    const whole = all[place]!
    sum += whole
    if (whole < least) least = whole
    else if (whole > most) most = whole
  }
  return { start, count: to - from, sum: sum / power, least: least / power, most: most / power, others: 0 }
}
