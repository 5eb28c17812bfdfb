/**
 * Writes points as CSV (RFC 4180): `timestamp,endpointId,series` and a column for each value name. A text that a spreadsheet would evaluate
 * as a formula gets an apostrophe in front. A missing value and null are empty cells.
 */
import { type Points, valueAt } from '../points.ts'
import type { IdentifiedPart } from './data-json.ts'
import { type AlignedRows, rowAt, rowsOf } from './point-json.ts'
import type { SelectedSeries } from './selected-series.ts'
import {
  createTextBuffer,
  dayMs,
  put,
  putNumber,
  putTimeOfDay,
  reserve,
  type TextBuffer,
  takeText,
} from './text-buffer.ts'

const bufferBytes = 128 * 1024
const numberBytesMax = 40

export interface CsvOptions {
  /** Names of values in the order of their columns. The series must have no other values. */
  names?: string[]
  withHeader?: boolean
  /** Called with the number of lines of each fragment. */
  counted?: (rows: number) => void
}

export const valueNamesOf = (series: SelectedSeries[]): string[] =>
  [...new Set(series.flatMap(({ values }) => values.map(({ name }) => name)))].sort()

export async function* csvOf(
  parts: AsyncIterable<IdentifiedPart>,
  series: SelectedSeries[],
  descending: boolean,
  { names = valueNamesOf(series), withHeader = true, counted }: CsvOptions = {},
): AsyncGenerator<Buffer> {
  const indexes = new Map(names.map((name, index) => [name, index]))
  const text = createTextBuffer(bufferBytes + 4096)
  if (withHeader) put(text, `${['timestamp', 'endpointId', 'series', ...names.map(cell)].join()}\r\n`)
  for await (const { fragments, idOf } of parts)
    for (const fragment of fragments) {
      const columns = fragment.columns.toSorted((a, b) => indexes.get(a.name)! - indexes.get(b.name)!)
      const rows = rowsOf(columns, descending)
      counted?.(rows.count)
      const positionOf = columns.map(({ name }) => indexes.get(name)!)
      const middle = `Z,${cell(idOf(fragment.endpointNo))},${cell(fragment.series.name)}`
      for (let index = 0; index < rows.count; index++) {
        const row = rowAt(rows, index)
        putTime(text, rows.times[row]!)
        put(text, middle)
        putValues(text, rows, row, positionOf, names.length)
        if (text.length >= bufferBytes) yield takeText(text)
      }
    }
  if (text.length > 0) yield takeText(text)
}

let [knownDay, dayText] = [Number.NaN, Buffer.alloc(0)]

/** Writes the time without its zone. */
function putTime(text: TextBuffer, time: number) {
  const day = Math.floor(time / dayMs)
  if (day !== knownDay) [knownDay, dayText] = [day, Buffer.from(new Date(day * dayMs).toISOString().slice(0, -1))]
  reserve(text, dayText.length)
  text.bytes.set(dayText, text.length)
  putTimeOfDay(text.bytes, text.length + '2026-01-02T'.length, time - day * dayMs)
  text.length += dayText.length
}

/** Writes the cells of a row. `positionOf` has the position in the CSV line for each of `columns`; positions are ascending. */
function putValues(
  text: TextBuffer,
  { columns, cells }: AlignedRows,
  row: number,
  positionOf: number[],
  width: number,
) {
  const first = cells ? cells.starts[row]! : 0
  const end = cells ? cells.starts[row + 1]! : columns.length
  let columnIndex = -1
  for (let cell = first; cell < end; cell++) {
    const column = cells ? cells.columns[cell]! : cell
    putCommas(text, positionOf[column]! - columnIndex)
    columnIndex = positionOf[column]!
    reserve(text, numberBytesMax)
    putCell(text, columns[column]!.points, cells ? cells.pointIndexes[cell]! : row)
  }
  putCommas(text, width - 1 - columnIndex)
  put(text, '\r\n')
}

function putCommas(text: TextBuffer, count: number) {
  reserve(text, count)
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
