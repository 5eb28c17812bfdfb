/**
 * Points as JSON, straight into bytes: a million of them are an answer of 66 MB, and building their texts one by one takes
 * three times as long.
 */
import { type Points, valueAt } from '../pack/chunk.ts'
import { dayMs, put, putNumber, putTimeOfDay, room, type TextBuffer } from './text.ts'

/** One value of a series. */
export interface Column {
  name: string
  points: Points
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
