/** Samples of the same few milliseconds, and what they are as binary COPY: in the order of endpoint, time and writing. */
import type { Group } from '../../../kernel/group-commit.ts'
import type { Value } from '../pack/chunk.ts'
import type { SeriesSet } from '../store/names.ts'

/** Whose sample it is. */
export interface Origin {
  tenantId: string
  applicationName: string
  versionName: string
  endpointId: string
}

export interface Rows extends Group {
  readonly endpointNos: number[]
  readonly times: number[]
  readonly writtens: number[]
  readonly sets: SeriesSet[]
  readonly values: Value[][]
  readonly origins: Origin[]
  /** `values` in the order of the set. */
  add(endpointNo: number, time: number, written: number, set: SeriesSet, values: Value[], origin: Origin): void
  encode(slot: number): Buffer
}

/** In the order in which `encode` writes them. */
export const columns = ['slot', 'endpoint_no', 'ts', 'set_id', 'written', 'v', 'x']

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailerLength = 2
/** Field count; lengths; slot, endpoint, time, set, writing; the head of the array. */
const fixedLength = 2 + 7 * 4 + 4 + 8 + 8 + 4 + 8 + 20
const float8 = 701
const high = 2 ** 32

export function createRows(valuesMax: number): Rows {
  const endpointNos: number[] = []
  const times: number[] = []
  const writtens: number[] = []
  const sets: SeriesSet[] = []
  const values: Value[][] = []
  const origins: Origin[] = []
  /** What is not a number, by the place of the row. */
  const others = new Map<number, string>()
  let valueCount = 0
  let textLength = 0

  function order(): Uint32Array {
    const places = new Uint32Array(times.length)
    for (let place = 0; place < places.length; place++) places[place] = place
    return places.sort((a, b) => endpointNos[a]! - endpointNos[b]! || times[a]! - times[b]! || a - b)
  }

  return {
    endpointNos,
    times,
    writtens,
    sets,
    values,
    origins,
    get count() {
      return times.length
    },
    get bytes() {
      return times.length * 150 + valueCount * 16 + textLength * 2
    },
    get isFull() {
      return valueCount >= valuesMax || textLength > 4_000_000
    },
    add(endpointNo, time, written, set, own, origin) {
      for (let place = 0; place < own.length; place++)
        if (typeof own[place] !== 'number') {
          const text = othersOf(own)
          others.set(times.length, text)
          textLength += text.length
          break
        }
      endpointNos.push(endpointNo)
      times.push(time)
      writtens.push(written)
      sets.push(set)
      values.push(own)
      origins.push(origin)
      valueCount += own.length
    },
    encode(slot) {
      const buffer = Buffer.allocUnsafe(
        header.length + times.length * fixedLength + valueCount * 12 + textLength * 3 + trailerLength,
      )
      const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
      let at = header.copy(buffer)
      const int64 = (value: number) => {
        view.setInt32(at, 8)
        view.setInt32(at + 4, Math.floor(value / high))
        view.setUint32(at + 8, value >>> 0)
        at += 12
      }
      for (const row of order()) {
        const own = values[row]!
        view.setInt16(at, columns.length)
        view.setInt32(at + 2, 4)
        view.setInt32(at + 6, slot)
        at += 10
        int64(endpointNos[row]!)
        int64(times[row]!)
        view.setInt32(at, 4)
        view.setInt32(at + 4, sets[row]!.setId)
        at += 8
        int64(writtens[row]!)
        view.setInt32(at, 20 + own.length * 12)
        view.setInt32(at + 4, 1) // one dimension
        view.setInt32(at + 8, 0) // no nulls
        view.setInt32(at + 12, float8)
        view.setInt32(at + 16, own.length)
        view.setInt32(at + 20, 1) // its first index
        at += 24
        for (let place = 0; place < own.length; place++) {
          const value = own[place]
          view.setInt32(at, 8)
          view.setFloat64(at + 4, typeof value === 'number' ? value : Number.NaN)
          at += 12
        }
        const text = others.get(row)
        if (text === undefined) {
          view.setInt32(at, -1)
          at += 4
        } else {
          const length = buffer.write(text, at + 4)
          view.setInt32(at, length)
          at += 4 + length
        }
      }
      view.setInt16(at, -1)
      return buffer.subarray(0, at + trailerLength)
    },
  }
}

/** As JSON: it escapes NUL and halves of characters, which PostgreSQL would refuse. */
export const othersOf = (values: Value[]): string =>
  JSON.stringify(
    Object.fromEntries(values.flatMap((value, place) => (typeof value === 'number' ? [] : [[place, value]]))),
  )

/** The values of a stored row. */
export function valuesOf(v: number[], x: string | null): Value[] {
  if (x === null) return v
  const values: Value[] = [...v]
  for (const [place, value] of Object.entries(JSON.parse(x) as Record<string, Exclude<Value, number>>))
    values[Number(place)] = value
  return values
}
