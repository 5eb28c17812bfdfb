/** Rows that are written together, and their encoding as binary COPY. The encoding is sorted by endpoint, time and arrival. */

import type { Group } from '../../../kernel/group-commit.ts'
import { takeBuffer } from '../../../kernel/spare-buffers.ts'
import type { CompanionRows, ReceivedMessage } from '../contract.ts'
import type { Value } from '../points.ts'
import { numberBytes, recordHeadBytes } from '../record.ts'
import type { SeriesSet } from '../store/numbers.ts'

/** Each group gets this many consecutive numbers in the order of writes. They order its samples with the same endpoint and time. */
export const numbersOfGroup = 256

/** The endpoint that a sample belongs to. */
export interface Origin {
  tenantId: string
  applicationName: string
  versionName: string
  endpointId: string
  /** The run of a rule that created the sample. */
  cause?: string | undefined
  /** The id of the sample's message. Present only if a service handles the points of this endpoint, so that they are published. */
  messageId?: string
}

export interface Rows extends Group {
  readonly endpointNos: number[]
  readonly times: number[]
  readonly sets: SeriesSet[]
  readonly values: Value[][]
  readonly origins: Origin[]
  /** Number of each row in the order of writes; 0 before the rows are encoded. */
  readonly writtenTimes: number[]
  /** Rows of another service that are stored in the same commit. */
  readonly companionRows: CompanionRows[]
  /** Samples to publish in the same commit. */
  readonly received: ReceivedMessage[]
  /** True if points of these rows are published in the same commit. */
  readonly hasPublishedPoints: boolean
  /** True if there was already an attempt to write the rows, which may have succeeded although its answer was lost. */
  isRepeated: boolean
  /** The group's first number in the order of writes, once it is known. */
  first: number | undefined
  /**
   * The request for `first`, once it was sent. It is not in a WeakMap, because V8 keeps the values of a WeakMap until the next full garbage
   * collection, even if their keys are unreachable.
   */
  requested: Promise<number> | undefined
  /**
   * Adds a sample. There is one row for each of its sets, whose values are consecutive in `values`. `isStamped` means that the platform
   * assigned the time.
   */
  add(endpointNo: number, time: number, isStamped: boolean, sets: SeriesSet[], values: Value[], origin: Origin): void
  addCompanionRows(rows: CompanionRows): void
  addReceived(received: ReceivedMessage): void
  /** Returns every stamped sample with the index of its first row. */
  stamped(): { row: number; endpointNo: number; time: number }[]
  /** Moves stamped samples of the endpoints in `after`, in order, to times later than the times there, and updates the times there. */
  moveStamped(after: Map<number, number>): void
  /** Encodes the rows into a buffer from `takeBuffer`. `isCopy` means that the rows are already stored in an older slot. */
  encode(slot: number, isCopy?: boolean): Buffer
}

/** Columns in the order in which `encode` writes them. */
export const columns = ['slot', 'endpoint_no', 'ts', 'set_id', 'written', 'record', 'x', 'stamped']

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailerLength = 2
/**
 * Bytes of a row without values and text: field count, lengths, slot, endpoint, time, set, number, head of the record,
 * stamped.
 */
const fixedLength = 2 + 8 * 4 + 4 + 8 + 8 + 4 + 8 + recordHeadBytes + 1
const highWordFactor = 2 ** 32

/** The origin of a row's time. The unique index covers only the first row of a stamped sample. */
const timeFromDevice = 0
const timeFromPlatform = 1
const timeFromPlatformFurtherRow = 2

/** Details of each row: the origin of its time, the index of its sample, and its values that are not numbers. */
interface Details {
  readonly timeOrigins: number[]
  readonly samples: number[]
  readonly others: Map<number, string>
}

export function createRows(valuesMax: number): Rows {
  const endpointNos: number[] = []
  const times: number[] = []
  const sets: SeriesSet[] = []
  const values: Value[][] = []
  const origins: Origin[] = []
  const writtenTimes: number[] = []
  const timeOrigins: number[] = []
  const samples: number[] = []
  const others = new Map<number, string>()
  const companionRows: CompanionRows[] = []
  const received: ReceivedMessage[] = []
  let [sampleCount, valueCount, textLength, companionBytes, receivedBytes] = [0, 0, 0, 0, 0]
  let hasPublishedPoints = false

  function addRow(
    endpointNo: number,
    time: number,
    timeOrigin: number,
    set: SeriesSet,
    rowValues: Value[],
    origin: Origin,
  ) {
    for (let index = 0; index < rowValues.length; index++)
      if (typeof rowValues[index] !== 'number') {
        const text = othersOf(rowValues)
        others.set(times.length, text)
        textLength += text.length
        break
      }
    endpointNos.push(endpointNo)
    times.push(time)
    timeOrigins.push(timeOrigin)
    samples.push(sampleCount)
    writtenTimes.push(0)
    sets.push(set)
    values.push(rowValues)
    origins.push(origin)
    if (origin.messageId !== undefined) hasPublishedPoints = true
    valueCount += rowValues.length
  }

  const rows: Rows = {
    endpointNos,
    times,
    sets,
    values,
    origins,
    writtenTimes,
    companionRows,
    received,
    isRepeated: false,
    first: undefined,
    requested: undefined,
    get count() {
      return times.length
    },
    get bytes() {
      return times.length * 150 + valueCount * 16 + textLength * 2 + companionBytes + receivedBytes * 4
    },
    get hasPublishedPoints() {
      return hasPublishedPoints
    },
    get isFull() {
      return valueCount >= valuesMax || textLength + receivedBytes > 4_000_000 || companionBytes > 8_000_000
    },
    add(endpointNo, time, isStamped, sampleSets, sampleValues, origin) {
      let [from, timeOrigin] = [0, isStamped ? timeFromPlatform : timeFromDevice]
      for (const set of sampleSets) {
        const to = from + set.seriesIds.length
        addRow(
          endpointNo,
          time,
          timeOrigin,
          set,
          sampleSets.length === 1 ? sampleValues : sampleValues.slice(from, to),
          origin,
        )
        if (isStamped) timeOrigin = timeFromPlatformFurtherRow
        from = to
      }
      sampleCount++
    },
    addCompanionRows(added) {
      companionRows.push(added)
      companionBytes += added.bytes
    },
    addReceived(added) {
      received.push(added)
      receivedBytes += added.bytes
    },
    stamped: () => stampedOf(rows, timeOrigins),
    moveStamped: (after) => moveStamped(rows, timeOrigins, after),
    encode(slot, isCopy = false) {
      const bytes = times.length * fixedLength + valueCount * numberBytes + textLength * 3
      return encode(rows, { timeOrigins, samples, others }, bytes, slot, isCopy)
    },
  }
  return rows
}

function stampedOf({ endpointNos, times }: Rows, timedBy: number[]): ReturnType<Rows['stamped']> {
  const stamped: ReturnType<Rows['stamped']> = []
  for (let row = 0; row < times.length; row++)
    if (timedBy[row] === timeFromPlatform) stamped.push({ row, endpointNo: endpointNos[row]!, time: times[row]! })
  return stamped
}

function moveStamped({ endpointNos, times }: Rows, timedBy: number[], after: Map<number, number>) {
  for (let row = 0; row < times.length; row++) {
    const last = timedBy[row] === timeFromDevice ? undefined : after.get(endpointNos[row]!)
    if (last === undefined) continue
    if (timedBy[row] === timeFromPlatform) {
      times[row] = Math.max(times[row]!, last + 1)
      after.set(endpointNos[row]!, times[row]!)
    } else times[row] = last
  }
}

function encode(
  rows: Rows,
  { timeOrigins, samples, others }: Details,
  bytes: number,
  slot: number,
  isCopy: boolean,
): Buffer {
  const order = sortedRows(rows)
  assignNumbers(order, rows, samples)
  const buffer = takeBuffer(header.length + bytes + trailerLength)
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
  let offset = header.copy(buffer)
  for (const row of order) {
    offset = putRow(view, offset, slot, rows, row)
    const text = others.get(row)
    const length = text === undefined ? -1 : buffer.write(text, offset + 4)
    view.setInt32(offset, length)
    offset += 4 + Math.max(0, length)
    const isStamped = timeOrigins[row] === timeFromPlatform && !isCopy
    view.setInt32(offset, isStamped ? 1 : -1)
    offset += 4
    if (isStamped) view.setUint8(offset++, 1)
  }
  view.setInt16(offset, -1)
  return buffer.subarray(0, offset + trailerLength)
}

function sortedRows({ endpointNos, times }: Rows): Uint32Array {
  const order = new Uint32Array(times.length)
  for (let row = 0; row < order.length; row++) order[row] = row
  return order.sort((a, b) => endpointNos[a]! - endpointNos[b]! || times[a]! - times[b]! || a - b)
}

/**
 * Assigns numbers to rows of the same endpoint and time, so that the last sample has the last number of the group. If there are more
 * samples than numbers, the first samples share a number.
 */
function assignNumbers(order: Uint32Array, { endpointNos, times, writtenTimes, first }: Rows, samples: number[]) {
  if (first === undefined) throw new Error('the rows have no number in the order of writes yet')
  const last = first + numbersOfGroup - 1
  let written = last
  for (let index = order.length - 1; index >= 0; index--) {
    const row = order[index]!
    const next = order[index + 1]
    if (next === undefined || endpointNos[next] !== endpointNos[row] || times[next] !== times[row]) written = last
    else if (samples[next] !== samples[row] && written > first) written--
    writtenTimes[row] = written
  }
}

/** Writes all columns except the last two. */
function putRow(view: DataView, start: number, slot: number, rows: Rows, row: number): number {
  const rowValues = rows.values[row]!
  view.setInt16(start, columns.length)
  view.setInt32(start + 2, 4)
  view.setInt32(start + 6, slot)
  let offset = putInt64(view, start + 10, rows.endpointNos[row]!)
  offset = putInt64(view, offset, rows.times[row]!)
  view.setInt32(offset, 4)
  view.setInt32(offset + 4, rows.sets[row]!.setId)
  offset = putInt64(view, offset + 8, rows.writtenTimes[row]!)
  view.setInt32(offset, recordHeadBytes + rowValues.length * numberBytes)
  view.setFloat64(offset + 4, rows.endpointNos[row]!)
  view.setFloat64(offset + 12, rows.times[row]!)
  offset += 4 + recordHeadBytes
  for (let index = 0; index < rowValues.length; index++) {
    const value = rowValues[index]
    view.setFloat64(offset, typeof value === 'number' ? value : Number.NaN)
    offset += numberBytes
  }
  return offset
}

function putInt64(view: DataView, at: number, value: number): number {
  view.setInt32(at, 8)
  view.setInt32(at + 4, Math.floor(value / highWordFactor))
  view.setUint32(at + 8, value >>> 0)
  return at + 12
}

/** Encodes values that are not numbers as JSON. JSON escapes NUL and lone surrogates, which PostgreSQL would reject. */
export const othersOf = (values: Value[]): string =>
  JSON.stringify(
    Object.fromEntries(values.flatMap((value, index) => (typeof value === 'number' ? [] : [[index, value]]))),
  )

/** Combines the numbers of a stored row with its other values. */
export function valuesOf(v: number[], x: string | null): Value[] {
  if (x === null) return v
  const values: Value[] = [...v]
  for (const [index, value] of Object.entries(JSON.parse(x) as Record<string, Exclude<Value, number>>))
    values[Number(index)] = value
  return values
}

/** Encodes values as the columns `v` and `x` of latest values. */
export function storedForm(values: Value[]): { v: number[]; x: string | null } {
  if (values.every((value) => typeof value === 'number')) return { v: values as number[], x: null }
  return { v: values.map((value) => (typeof value === 'number' ? value : Number.NaN)), x: othersOf(values) }
}
