/**
 * Points as JSON, straight into bytes: a million of them are an answer of 66 MB, and building their texts one by one takes
 * three times as long.
 */
import { type Points, valueAt } from '../pack/chunk.ts'

/** One value of a series. */
export interface Column {
  name: string
  points: Points
}

export interface TextBuffer {
  bytes: Buffer
  length: number
}

export const createTextBuffer = (size = 128 * 1024): TextBuffer => ({ bytes: Buffer.allocUnsafe(size), length: 0 })

export function room(text: TextBuffer, more: number) {
  if (text.length + more <= text.bytes.length) return
  const bytes = Buffer.allocUnsafe(Math.max(text.bytes.length * 2, text.length + more))
  text.bytes.copy(bytes, 0, 0, text.length)
  text.bytes = bytes
}

export function put(text: TextBuffer, part: string) {
  room(text, part.length * 3)
  text.length += text.bytes.write(part, text.length)
}

/** What was written, as bytes of its own; the buffer begins anew. */
export function take(text: TextBuffer): Buffer {
  const taken = Buffer.from(text.bytes.subarray(0, text.length))
  text.length = 0
  return taken
}

const dayMs = 86_400_000

/** `2026-01-02T03:04:05.678Z`: the day's part is written once and copied, and these are the digits of the time. */
function putTimeOfDay(bytes: Buffer, at: number, ms: number) {
  const seconds = (ms / 1000) | 0
  const minutes = (seconds / 60) | 0
  const hours = (minutes / 60) | 0
  const second = seconds - minutes * 60
  const minute = minutes - hours * 60
  const rest = ms - seconds * 1000
  bytes[at] = 0x30 + ((hours / 10) | 0)
  bytes[at + 1] = 0x30 + (hours % 10)
  bytes[at + 3] = 0x30 + ((minute / 10) | 0)
  bytes[at + 4] = 0x30 + (minute % 10)
  bytes[at + 6] = 0x30 + ((second / 10) | 0)
  bytes[at + 7] = 0x30 + (second % 10)
  bytes[at + 9] = 0x30 + ((rest / 100) | 0)
  bytes[at + 10] = 0x30 + (((rest / 10) | 0) % 10)
  bytes[at + 11] = 0x30 + (rest % 10)
}

const wholeMax = 1e9

/** The digits of a number: those of up to three decimals by hand, which takes a fifth of the time and gives the same. */
function putNumber(text: TextBuffer, number: number) {
  let [power, whole] = [1, number]
  if (!Number.isInteger(number)) {
    power = 100
    whole = Math.round(number * 100)
    if (whole / 100 !== number) {
      power = 1000
      whole = Math.round(number * 1000)
    }
  }
  const { bytes } = text
  let at = text.length
  // Fifteen digits name one number only, so no shorter text can mean the same one. JSON has no negative zero.
  if (whole / power !== number || whole > wholeMax || whole < -wholeMax) {
    const digits = String(number)
    for (let place = 0; place < digits.length; place++) bytes[at++] = digits.charCodeAt(place)
    text.length = at
    return
  }
  if (whole < 0) {
    bytes[at++] = 0x2d
    whole = -whole
  }
  while (power > 1 && whole % 10 === 0) {
    whole /= 10
    power /= 10
  }
  const before = (whole / power) | 0
  at = putWhole(bytes, at, before)
  if (power > 1) {
    bytes[at++] = 0x2e
    let rest = whole - before * power
    for (let place = power / 10; place >= 1; place /= 10) {
      const digit = (rest / place) | 0
      bytes[at++] = 0x30 + digit
      rest -= digit * place
    }
  }
  text.length = at
}

function putWhole(bytes: Buffer, at: number, whole: number): number {
  let digits = 1
  for (let limit = 10; whole >= limit; limit *= 10) digits++
  let rest = whole
  for (let place = at + digits - 1; place >= at; place--) {
    const next = (rest / 10) | 0
    bytes[place] = 0x30 + (rest - next * 10)
    rest = next
  }
  return at + digits
}

/** A number or, where there is none, what stands beside. */
export function putValue(text: TextBuffer, points: Points, index: number) {
  const number = points.numbers[index]!
  if (Number.isNaN(number)) put(text, JSON.stringify(valueAt(points, index)))
  else putNumber(text, number)
}

/** Longer than a number, a time and the signs around them. */
const valueRoom = 40
const before = '{"timestamp":"'
const after = 'Z","values":{'
const timeAt = before.length + '2026-01-02T'.length

/** Everything of a point that is the same for all of a day. */
const dayText = (day: number, name: string) =>
  Buffer.from(`${before}${new Date(day * dayMs).toISOString().slice(0, 11)}00:00:00.000${after}${name}`)

/**
 * The points of a series from `from` on, until the text has about `bytesMax` bytes or there are no more: the place to go on
 * at. Without brackets, with commas between.
 */
export function putPoints(text: TextBuffer, rows: Rows, from: number, bytesMax: number): number {
  const { times, columns, places, count } = rows
  const names = columns.map(({ name }) => Buffer.from(`${JSON.stringify(name)}:`))
  const [only] = columns
  const one = columns.length === 1 && !places ? only!.points : undefined
  const nameText = one ? names[0]!.toString() : ''
  const longest = names.reduce((sum, name) => sum + name.length + valueRoom, 100)
  let [knownDay, template] = [Number.NaN, Buffer.alloc(0)]
  let index = from
  for (; index < count && text.length < bytesMax; index++) {
    room(text, longest)
    if (index > from) text.bytes[text.length++] = 0x2c
    const time = times[index]!
    const day = Math.floor(time / dayMs)
    if (day !== knownDay) [knownDay, template] = [day, dayText(day, nameText)]
    text.bytes.set(template, text.length)
    putTimeOfDay(text.bytes, text.length + timeAt, time - day * dayMs)
    text.length += template.length
    if (one) putValue(text, one, index)
    else putRow(text, rows, names, index, longest)
    room(text, 2)
    text.bytes[text.length++] = 0x7d
    text.bytes[text.length++] = 0x7d
  }
  return index
}

function putRow(text: TextBuffer, { columns, places }: Rows, names: Buffer[], index: number, longest: number) {
  let first = true
  for (let column = 0; column < columns.length; column++) {
    const place = places ? places[column]![index]! : index
    if (place < 0) continue
    room(text, longest)
    if (!first) text.bytes[text.length++] = 0x2c
    first = false
    text.bytes.set(names[column]!, text.length)
    text.length += names[column]!.length
    putValue(text, columns[column]!.points, place)
  }
}

/** The values of a series side by side. */
export interface Rows {
  count: number
  times: Float64Array
  columns: Column[]
  /** For each column, where its point of this row is; -1 where it has none. Absent when all have all. */
  places?: Int32Array[]
}

export function rowsOf(columns: Column[], descending = false): Rows {
  const rows = columns.length === 1 ? alone(columns[0]!) : sideBySide(columns)
  return descending ? reversed(rows) : rows
}

const alone = (column: Column): Rows => ({
  count: column.points.count,
  times: column.points.times,
  columns: [column],
})

/** Values that came in the same samples have the same times. */
function haveSameTimes([first, ...others]: Column[]): boolean {
  const { count, times } = first!.points
  return others.every(({ points }) => {
    if (points.count !== count) return false
    for (let index = 0; index < count; index++) if (points.times[index] !== times[index]) return false
    return true
  })
}

function sideBySide(columns: Column[]): Rows {
  if (haveSameTimes(columns)) return { count: columns[0]!.points.count, times: columns[0]!.points.times, columns }
  const all = new Set<number>()
  for (const { points } of columns) for (let index = 0; index < points.count; index++) all.add(points.times[index]!)
  const times = Float64Array.from(all).sort()
  const places = columns.map(({ points }) => {
    const own = new Int32Array(times.length).fill(-1)
    let next = 0
    for (let index = 0; index < times.length && next < points.count; index++)
      if (points.times[next] === times[index]) own[index] = next++
    return own
  })
  return { count: times.length, times, columns, places }
}

function reversed({ count, times, columns, places }: Rows): Rows {
  const turned = (places ?? columns.map(() => Int32Array.from({ length: count }, (_, index) => index))).map((own) =>
    own.toReversed(),
  )
  return { count, columns, times: times.slice(0, count).reverse(), places: turned }
}
