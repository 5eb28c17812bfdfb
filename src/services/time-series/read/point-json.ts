/**
 * Points as JSON, straight into bytes: a million of them are an answer of 66 MB, and building their texts one by one takes
 * three times as long.
 */
import { firstFrom, type Points, valueAt } from '../points.ts'
import { dayMs, put, putNumber, putTimeOfDay, room, type TextBuffer } from './text-buffer.ts'

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
  const { times, columns, cells, count } = rows
  const names = columns.map(({ name }) => Buffer.from(`${JSON.stringify(name)}:`))
  const one = columns.length === 1 && !cells ? columns[0]!.points : undefined
  const nameText = one ? names[0]!.toString() : ''
  const longest = names.reduce((sum, name) => sum + name.length + valueRoom, 100)
  let [knownDay, template] = [Number.NaN, Buffer.alloc(0)]
  let index = from
  for (; index < count && text.length < bytesMax; index++) {
    room(text, longest)
    if (index > from) text.bytes[text.length++] = 0x2c
    const row = rowAt(rows, index)
    const time = times[row]!
    const day = Math.floor(time / dayMs)
    if (day !== knownDay) [knownDay, template] = [day, dayText(day, nameText)]
    text.bytes.set(template, text.length)
    putTimeOfDay(text.bytes, text.length + timeAt, time - day * dayMs)
    text.length += template.length
    if (one) putValue(text, one, row)
    else putRow(text, rows, names, row, longest)
    room(text, 2)
    text.bytes[text.length++] = 0x7d
    text.bytes[text.length++] = 0x7d
  }
  return index
}

function putRow(text: TextBuffer, { columns, cells }: Rows, names: Buffer[], row: number, longest: number) {
  const first = cells ? cells.starts[row]! : 0
  const end = cells ? cells.starts[row + 1]! : columns.length
  for (let cell = first; cell < end; cell++) {
    const column = cells ? cells.columns[cell]! : cell
    room(text, longest)
    if (cell > first) text.bytes[text.length++] = 0x2c
    text.bytes.set(names[column]!, text.length)
    text.length += names[column]!.length
    putValue(text, columns[column]!.points, cells ? cells.places[cell]! : row)
  }
}

/** The values of a series side by side. */
export interface Rows {
  /** How many of them are wanted. */
  count: number
  /** Ascending. */
  times: Float64Array
  columns: Column[]
  /** Absent when each row has all columns, each at the place of the row. */
  cells?: Cells
  /** The place of the last row, where that is the first one that is wanted. */
  descendingFrom?: number
}

/** Which columns the rows have: as many as there are points, however many columns and rows there are. */
interface Cells {
  /** Where the cells of each row begin, and at last where those of the last one end. */
  starts: Uint32Array
  columns: Uint32Array
  /** Places in the points of the column. */
  places: Uint32Array
}

/** The place in `times` of the row that comes at this place of the answer. */
export const rowAt = ({ descendingFrom }: Rows, index: number) =>
  descendingFrom === undefined ? index : descendingFrom - index

export function rowsOf(columns: Column[], descending = false): Rows {
  const rows = columns.length === 1 ? alone(columns[0]!) : sideBySide(columns)
  return descending ? { ...rows, descendingFrom: rows.count - 1 } : rows
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
  const times = allTimes(columns)
  const rows = columns.map(({ points }) => placesAmong(times, points))
  const starts = new Uint32Array(times.length + 1)
  for (const own of rows) for (const row of own) starts[row + 1]!++
  for (let row = 0; row < times.length; row++) starts[row + 1]! += starts[row]!
  const next = starts.slice()
  const cells: Cells = { starts, columns: new Uint32Array(starts.at(-1)!), places: new Uint32Array(starts.at(-1)!) }
  for (const [column, own] of rows.entries())
    for (let place = 0; place < own.length; place++) {
      const cell = next[own[place]!]!++
      cells.columns[cell] = column
      cells.places[cell] = place
    }
  return { count: times.length, times, columns, cells }
}

/** Ascending, each once. */
function allTimes(columns: Column[]): Float64Array {
  const all = new Float64Array(columns.reduce((sum, { points }) => sum + points.count, 0))
  let count = 0
  for (const { points } of columns) {
    all.set(points.times.subarray(0, points.count), count)
    count += points.count
  }
  all.sort()
  let unique = 0
  for (let index = 0; index < count; index++)
    if (index === 0 || all[index] !== all[unique - 1]) all[unique++] = all[index]!
  return all.subarray(0, unique)
}

function placesAmong(times: Float64Array, points: Points): Uint32Array {
  const places = new Uint32Array(points.count)
  let next = 0
  for (let index = 0; index < points.count; index++) {
    const time = points.times[index]!
    // Mostly it is the next one; where there are many columns it may be far away.
    if (times[next] !== time) next = firstFrom({ times, count: times.length }, time)
    places[index] = next++
  }
  return places
}
