/**
 * Points as JSON, straight into bytes: a million of them are an answer of 66 MB, and building their texts one by one takes
 * three times as long.
 */
import type { Points } from '../pack/chunk.ts'
import { valueAt } from '../pack/chunk.ts'

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
let knownDay = Number.NaN
const dayBytes = Buffer.alloc(11)

/** `2026-01-02T03:04:05.678Z`, 24 bytes; points mostly share their day with the one before. */
export function putTime(text: TextBuffer, time: number) {
  const day = Math.floor(time / dayMs)
  if (day !== knownDay) {
    dayBytes.write(new Date(day * dayMs).toISOString().slice(0, 11), 'latin1')
    knownDay = day
  }
  const { bytes } = text
  let at = text.length
  for (let index = 0; index < 11; index++) bytes[at++] = dayBytes[index]!
  const ms = time - day * dayMs
  const seconds = Math.floor(ms / 1000)
  at = two(bytes, at, Math.floor(seconds / 3600), 0x3a)
  at = two(bytes, at, Math.floor(seconds / 60) % 60, 0x3a)
  at = two(bytes, at, seconds % 60, 0x2e)
  const rest = ms - seconds * 1000
  bytes[at++] = 0x30 + Math.floor(rest / 100)
  bytes[at++] = 0x30 + (Math.floor(rest / 10) % 10)
  bytes[at++] = 0x30 + (rest % 10)
  bytes[at++] = 0x5a
  text.length = at
}

function two(bytes: Buffer, at: number, value: number, after: number): number {
  bytes[at] = 0x30 + Math.floor(value / 10)
  bytes[at + 1] = 0x30 + (value % 10)
  bytes[at + 2] = after
  return at + 3
}

/** A number or, where there is none, what stands beside. */
export function putValue(text: TextBuffer, points: Points, index: number) {
  const number = points.numbers[index]!
  if (Number.isNaN(number)) {
    put(text, JSON.stringify(valueAt(points, index)))
    return
  }
  // JSON has no negative zero.
  const digits = number === 0 ? '0' : String(number)
  const { bytes } = text
  let at = text.length
  for (let place = 0; place < digits.length; place++) bytes[at++] = digits.charCodeAt(place)
  text.length = at
}

const beginning = Buffer.from('{"timestamp":"')
const middle = Buffer.from('","values":{')
/** Longer than everything of a point but its names and texts. */
const pointRoom = 128

function putBytes(text: TextBuffer, part: Buffer) {
  const { bytes } = text
  let at = text.length
  for (let index = 0; index < part.length; index++) bytes[at++] = part[index]!
  text.length = at
}

/**
 * The points of a series from `from` on, until the text has about `bytesMax` bytes or there are no more: the place to go on
 * at. Without brackets, with commas between.
 */
export function putPoints(text: TextBuffer, rows: Rows, from: number, bytesMax: number): number {
  const { times, columns, places, count } = rows
  const names = columns.map(({ name }) => Buffer.from(`${JSON.stringify(name)}:`))
  const longest = names.reduce((sum, name) => sum + name.length + 40, pointRoom)
  let index = from
  for (; index < count && text.length < bytesMax; index++) {
    room(text, longest)
    if (index > from) text.bytes[text.length++] = 0x2c
    putBytes(text, beginning)
    putTime(text, times[index]!)
    putBytes(text, middle)
    let first = true
    for (let column = 0; column < columns.length; column++) {
      const place = places ? places[column]![index]! : index
      if (place < 0) continue
      room(text, longest)
      if (!first) text.bytes[text.length++] = 0x2c
      first = false
      putBytes(text, names[column]!)
      putValue(text, columns[column]!.points, place)
    }
    room(text, 2)
    text.bytes[text.length++] = 0x7d
    text.bytes[text.length++] = 0x7d
  }
  return index
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

function sideBySide(columns: Column[]): Rows {
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
