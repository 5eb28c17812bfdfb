/**
 * The points of one value of one series of one endpoint, packed. Times are kept as differences of differences, which are
 * nothing where sampling is regular; numbers as whole numbers of the fewest decimals that give every one of them back
 * exactly, or as they are where there are none. Texts, booleans and nulls stand beside as JSON: they are rare.
 */
import type { Points, Value } from '../points.ts'
import {
  createReader,
  createWriter,
  passZeros,
  type Reader,
  readBlocks,
  readVarint,
  reserve,
  sizeOfBlocks,
  unzigzag,
  type Writer,
  writeBlocks,
  writeVarint,
  zigzag,
} from './bit-blocks.ts'

const version = 1
/** How the numbers are kept. */
const plain = 0 // eight bytes each
const scaled = 1 // whole numbers, by blocks
const differences = 2 // whole numbers, each as the difference to the one before

const decimalsMax = 9
const powers = Array.from({ length: decimalsMax + 1 }, (_, decimals) => 10 ** decimals)
const wholeMax = 2 ** 51

let space = new Float64Array(4096)
let space2 = new Float64Array(4096)
function spaces(count: number) {
  if (space.length < count) {
    space = new Float64Array(count * 2)
    space2 = new Float64Array(count * 2)
  }
}

const shared: Writer = createWriter()

export function pack(points: Points): Buffer {
  const { count, times, others } = points
  if (count === 0) throw new Error('a chunk without points')
  spaces(count)
  const writer = shared
  writer.length = 0
  reserve(writer, 2)
  writer.bytes[writer.length++] = version
  writer.bytes[writer.length++] = others && others.size > 0 ? 1 : 0
  writeVarint(writer, count)
  packTimes(writer, times, count)
  packNumbers(writer, points)
  if (others && others.size > 0) {
    const text = Buffer.from(JSON.stringify([...others]))
    writeVarint(writer, text.length)
    reserve(writer, text.length)
    writer.bytes.set(text, writer.length)
    writer.length += text.length
  }
  return Buffer.from(writer.bytes.subarray(0, writer.length))
}

export function beginReading(data: Uint8Array): Reader {
  if (data[0] !== version) throw new Error(`a chunk of version ${data[0]}`)
  return createReader(data, 2)
}

/** Whether everything in it is a number. */
export const isOfNumbers = (data: Uint8Array) => data[1] === 0

export function unpack(data: Uint8Array): Points {
  const reader = beginReading(data)
  const count = readVarint(reader)
  const times = unpackTimes(reader, count)
  const numbers = unpackNumbers(reader, count)
  if (isOfNumbers(data)) return { count, times, numbers }
  const length = readVarint(reader)
  const text = Buffer.from(data.buffer, data.byteOffset + reader.at, length).toString()
  const others = new Map(JSON.parse(text) as [number, Exclude<Value, number>][])
  for (const index of others.keys()) numbers[index] = Number.NaN
  return { count, times, numbers, others }
}

/** Of the packed form alone: for a page that skips, and for figures. */
export const countOf = (data: Uint8Array) => readVarint(createReader(data, 2))

/** How the times are kept: how they are spaced, or eight bytes each where gaps are of weeks. */
const spaced = 0
const apart = 1

function packTimes(writer: Writer, times: Float64Array, count: number) {
  const first = times[0]!
  const firstStep = count > 1 ? times[1]! - first : 0
  let step = firstStep
  for (let index = 2; index < count; index++) {
    const next = times[index]! - times[index - 1]!
    space[index - 2] = next - step
    step = next
  }
  const jumps = Math.max(0, count - 2)
  if (sizeOfBlocks(space, jumps) === undefined) {
    writeVarint(writer, apart)
    writePlain(writer, times, count)
    return
  }
  writeVarint(writer, spaced)
  writeVarint(writer, zigzag(first))
  writeVarint(writer, firstStep)
  writeBlocks(writer, space, jumps)
}

/** Into `times`, if it is given and long enough. */
export function unpackTimes(reader: Reader, count: number, times = new Float64Array(count)): Float64Array {
  if (readVarint(reader) === apart) return readPlain(reader, count)
  const first = unzigzag(readVarint(reader))
  const firstStep = readVarint(reader)
  const jumps = Math.max(0, count - 2)
  if (passZeros(reader, jumps)) {
    for (let index = 0; index < count; index++) times[index] = first + index * firstStep
    return times
  }
  let [before, step] = [first + firstStep, firstStep]
  times[0] = first
  times[1] = before
  const later = times.subarray(2, count)
  readBlocks(reader, later, jumps)
  for (let index = 0; index < jumps; index++) {
    step += later[index]!
    before += step
    later[index] = before
  }
  return times
}

/** Where times follow each other at equal steps: the first and the step. Otherwise undefined, and nothing is read. */
export function regularTimes(reader: Reader, count: number): { first: number; step: number } | undefined {
  const { at } = reader
  if (readVarint(reader) === spaced) {
    const first = unzigzag(readVarint(reader))
    const step = readVarint(reader)
    if (passZeros(reader, Math.max(0, count - 2))) return { first, step }
  }
  reader.at = at
  return undefined
}

/** Of the packed form alone. */
export function firstTimeOf(data: Uint8Array): number {
  const reader = beginReading(data)
  readVarint(reader)
  return readVarint(reader) === apart ? readPlain(reader, 1)[0]! : unzigzag(readVarint(reader))
}

function packNumbers(writer: Writer, { numbers, count }: Points) {
  reserve(writer, 2)
  const decimals = decimalsOf(numbers, count)
  if (decimals === undefined) return packPlain(writer, numbers, count)
  const power = powers[decimals]!
  let before = 0
  for (let index = 0; index < count; index++) {
    const value = numbers[index]!
    // A place that holds something else costs nothing as a repetition.
    const whole = Number.isNaN(value) ? before : Math.round(value * power)
    space[index] = whole
    if (index > 0) space2[index - 1] = whole - before
    before = whole
  }
  const [whole, steps] = [sizeOfBlocks(space, count), sizeOfBlocks(space2, count - 1)]
  if (whole === undefined && steps === undefined) return packPlain(writer, numbers, count)
  const bySteps = whole === undefined || (steps !== undefined && steps < whole)
  writer.bytes[writer.length++] = bySteps ? differences : scaled
  writer.bytes[writer.length++] = decimals
  if (!bySteps) return writeBlocks(writer, space, count)
  writeVarint(writer, zigzag(space[0]!))
  writeBlocks(writer, space2, count - 1)
}

function packPlain(writer: Writer, numbers: Float64Array, count: number) {
  writer.bytes[writer.length++] = plain
  writePlain(writer, numbers, count)
}

function unpackNumbers(reader: Reader, count: number): Float64Array {
  if (passPlain(reader)) return readPlain(reader, count)
  const numbers = new Float64Array(count)
  const power = unpackWholes(reader, count, numbers)
  if (power !== 1) for (let index = 0; index < count; index++) numbers[index] = numbers[index]! / power
  return numbers
}

/** Whether the numbers are as they are, eight bytes each; what says so is passed over. */
export function passPlain(reader: Reader): boolean {
  if (reader.bytes[reader.at] !== plain) return false
  reader.at++
  return true
}

/** Into `wholes`: whole numbers. Returns what to divide them by. */
export function unpackWholes(reader: Reader, count: number, wholes: Float64Array): number {
  const how = reader.bytes[reader.at++]
  const power = powers[reader.bytes[reader.at++]!]
  if (power === undefined || (how !== scaled && how !== differences)) throw new Error('a packed chunk is damaged')
  if (how === scaled) {
    readBlocks(reader, wholes, count)
    return power
  }
  let whole = unzigzag(readVarint(reader))
  wholes[0] = whole
  readBlocks(reader, wholes.subarray(1, count), count - 1)
  for (let index = 1; index < count; index++) {
    whole += wholes[index]!
    wholes[index] = whole
  }
  return power
}

/** The fewest that give all numbers back exactly; undefined when nine are not enough. */
function decimalsOf(numbers: Float64Array, count: number): number | undefined {
  let decimals = 0
  for (let index = 0; index < count; index++) {
    const value = numbers[index]!
    if (Number.isNaN(value)) continue
    if (Object.is(value, -0)) return undefined
    while (!isWhole(value, powers[decimals]!)) if (++decimals > decimalsMax) return undefined
  }
  // What was exact with fewer is exact with more, but for numbers near 2^53.
  for (let index = 0; index < count; index++) {
    const value = numbers[index]!
    if (!Number.isNaN(value) && !isWhole(value, powers[decimals]!)) return undefined
  }
  return decimals
}

function isWhole(value: number, power: number): boolean {
  const whole = Math.round(value * power)
  return whole / power === value && whole < wholeMax && whole > -wholeMax
}

function writePlain(writer: Writer, numbers: Float64Array, count: number) {
  reserve(writer, count * 8)
  for (let index = 0; index < count; index++) {
    writer.view.setFloat64(writer.length, numbers[index]!, true)
    writer.length += 8
  }
}

function readPlain(reader: Reader, count: number): Float64Array {
  const { bytes, at } = reader
  if (at + count * 8 > bytes.length) throw new Error('a packed chunk ends too early')
  const copy = new Uint8Array(count * 8)
  copy.set(bytes.subarray(at, at + count * 8))
  reader.at += count * 8
  return new Float64Array(copy.buffer)
}
