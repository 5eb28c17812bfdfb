/**
 * Points as CSV (RFC 4180): `timestamp,endpointId,series` and a column for each name of a value. A text that a spreadsheet would
 * take for a formula has an apostrophe before it; nothing stands where there is no value or null.
 */
import { type Points, valueAt } from '../points.ts'
import type { AskedSeries } from './asked-series.ts'
import type { IdentifiedPart } from './data-json.ts'
import { type Rows, rowAt, rowsOf } from './point-json.ts'
import { createTextBuffer, dayMs, put, putNumber, putTimeOfDay, room, type TextBuffer, take } from './text-buffer.ts'

const bytesAtOnce = 128 * 1024
const numberRoom = 40

export async function* csvOf(
  parts: AsyncIterable<IdentifiedPart>,
  series: AskedSeries[],
  descending: boolean,
): AsyncGenerator<Buffer> {
  const names = [...new Set(series.flatMap(({ values }) => values.map(({ name }) => name)))].sort()
  const places = new Map(names.map((name, place) => [name, place]))
  const text = createTextBuffer(bytesAtOnce + 4096)
  put(text, `${['timestamp', 'endpointId', 'series', ...names.map(cell)].join()}\r\n`)
  for await (const { pieces, idOf } of parts)
    for (const piece of pieces) {
      const columns = piece.columns.toSorted((a, b) => places.get(a.name)! - places.get(b.name)!)
      const rows = rowsOf(columns, descending)
      const placeOf = columns.map(({ name }) => places.get(name)!)
      const middle = `Z,${cell(idOf(piece.endpointNo))},${cell(piece.series.name)}`
      for (let index = 0; index < rows.count; index++) {
        const row = rowAt(rows, index)
        putTime(text, rows.times[row]!)
        put(text, middle)
        putValues(text, rows, row, placeOf, names.length)
        if (text.length >= bytesAtOnce) yield take(text)
      }
    }
  if (text.length > 0) yield take(text)
}

let [knownDay, dayText] = [Number.NaN, Buffer.alloc(0)]

/** Without the zone. */
function putTime(text: TextBuffer, time: number) {
  const day = Math.floor(time / dayMs)
  if (day !== knownDay) [knownDay, dayText] = [day, Buffer.from(new Date(day * dayMs).toISOString().slice(0, -1))]
  room(text, dayText.length)
  text.bytes.set(dayText, text.length)
  putTimeOfDay(text.bytes, text.length + '2026-01-02T'.length, time - day * dayMs)
  text.length += dayText.length
}

/** `placeOf`: of each column, ascending. */
function putValues(text: TextBuffer, { columns, cells }: Rows, row: number, placeOf: number[], width: number) {
  const first = cells ? cells.starts[row]! : 0
  const end = cells ? cells.starts[row + 1]! : columns.length
  let place = -1
  for (let cell = first; cell < end; cell++) {
    const column = cells ? cells.columns[cell]! : cell
    putCommas(text, placeOf[column]! - place)
    place = placeOf[column]!
    room(text, numberRoom)
    putCell(text, columns[column]!.points, cells ? cells.places[cell]! : row)
  }
  putCommas(text, width - 1 - place)
  put(text, '\r\n')
}

function putCommas(text: TextBuffer, count: number) {
  room(text, count)
  text.bytes.fill(0x2c, text.length, text.length + count)
  text.length += count
}

function putCell(text: TextBuffer, points: Points, index: number) {
  const value = valueAt(points, index)
  if (typeof value === 'number') putNumber(text, value)
  else if (typeof value === 'string') put(text, value === '' ? '""' : cell(value))
  else if (value !== null) put(text, String(value))
}

const formula = /^[=+\-@\t\r\n]/
const quoted = /[",\r\n]|^\s|\s$/

function cell(value: string): string {
  const safe = formula.test(value) ? `'${value}` : value
  return quoted.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
