/**
 * Encodes the points of one series value. Times are stored as second-order differences. Numbers are scaled to integers with the fewest
 * decimals that are exact, or stored as eight bytes each. Other values are appended as JSON.
 */
import type { Points, Value } from '../points.ts'
import {
  createReader,
  createWriter,
  type Reader,
  readBlocks,
  readVarint,
  reserve,
  sizeOfBlocks,
  skipZeros,
  unzigzag,
  type Writer,
  writeBlocks,
  writeVarint,
  zigzag,
} from './bit-blocks.ts'

const version = 1
/** Encodings of numbers. */
const plain = 0 // Each number takes eight bytes.
const scaled = 1 // Scaled integers are stored in blocks.
const differences = 2 // Differences between consecutive scaled integers are stored in blocks.

const decimalsMax = 9
const powers = Array.from({ length: decimalsMax + 1 }, (_, decimals) => 10 ** decimals)
const wholeMax = 2 ** 51

let scratch = new Float64Array(4096)
let scratchSteps = new Float64Array(4096)
function reserveScratch(count: number) {
  if (scratch.length < count) {
    scratch = new Float64Array(count * 2)
    scratchSteps = new Float64Array(count * 2)
  }
}

const sharedWriter: Writer = createWriter()

export function pack(points: Points): Buffer {
  const { count, times, others } = points
  if (count === 0) throw new Error('a chunk without points')
  reserveScratch(count)
  const writer = sharedWriter
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

export function openChunk(data: Uint8Array): Reader {
  if (data[0] !== version) throw new Error(`a chunk of version ${data[0]}`)
  return createReader(data, 2)
}

/** Returns true if all values are numbers. */
export const isOfNumbers = (data: Uint8Array) => data[1] === 0

export function unpack(data: Uint8Array): Points {
  const reader = openChunk(data)
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

/** Returns the number of points without unpacking them. */
export const countOf = (data: Uint8Array) => readVarint(createReader(data, 2))

/** Encodings of times: second-order differences, or eight bytes each if the times differ by weeks. */
const regular = 0
const plainTimes = 1

function packTimes(writer: Writer, times: Float64Array, count: number) {
  const first = times[0]!
  const firstStep = count > 1 ? times[1]! - first : 0
  let step = firstStep
  for (let index = 2; index < count; index++) {
    const next = times[index]! - times[index - 1]!
    scratch[index - 2] = next - step
    step = next
  }
  const secondDifferences = Math.max(0, count - 2)
  if (sizeOfBlocks(scratch, secondDifferences) === undefined) {
    writeVarint(writer, plainTimes)
    writePlain(writer, times, count)
    return
  }
  writeVarint(writer, regular)
  writeVarint(writer, zigzag(first))
  writeVarint(writer, firstStep)
  writeBlocks(writer, scratch, secondDifferences)
}

/** Unpacks times. Differences are unpacked into `times`, which is returned; times of eight bytes each are returned in a new array. */
export function unpackTimes(reader: Reader, count: number, times = new Float64Array(count)): Float64Array {
  if (readVarint(reader) === plainTimes) return readPlain(reader, count)
  const first = unzigzag(readVarint(reader))
  const firstStep = readVarint(reader)
  const secondDifferences = Math.max(0, count - 2)
  if (skipZeros(reader, secondDifferences)) {
    for (let index = 0; index < count; index++) times[index] = first + index * firstStep
    return times
  }
  let [before, step] = [first + firstStep, firstStep]
  times[0] = first
  times[1] = before
  const later = times.subarray(2, count)
  readBlocks(reader, later, secondDifferences)
  for (let index = 0; index < secondDifferences; index++) {
    step += later[index]!
    before += step
    later[index] = before
  }
  return times
}

/** Returns the first time and the step if the times are regular; otherwise returns undefined and reads nothing. */
export function regularTimes(reader: Reader, count: number): { first: number; step: number } | undefined {
  const { at } = reader
  if (readVarint(reader) === regular) {
    const first = unzigzag(readVarint(reader))
    const step = readVarint(reader)
    if (skipZeros(reader, Math.max(0, count - 2))) return { first, step }
  }
  reader.at = at
  return undefined
}

/** Returns the first time without unpacking the points. */
export function firstTimeOf(data: Uint8Array): number {
  const reader = openChunk(data)
  readVarint(reader)
  return readVarint(reader) === plainTimes ? readPlain(reader, 1)[0]! : unzigzag(readVarint(reader))
}

function packNumbers(writer: Writer, { numbers, count }: Points) {
  reserve(writer, 2)
  const decimals = decimalsOf(numbers, count)
  if (decimals === undefined) return packPlain(writer, numbers, count)
  const power = powers[decimals]!
  let before = 0
  for (let index = 0; index < count; index++) {
    const value = numbers[index]!
    // For a value that is not a number, the previous number is repeated, because a difference of 0 takes no bits.
    const scaledValue = Number.isNaN(value) ? before : Math.round(value * power)
    scratch[index] = scaledValue
    if (index > 0) scratchSteps[index - 1] = scaledValue - before
    before = scaledValue
  }
  const [blockBytes, stepBytes] = [sizeOfBlocks(scratch, count), sizeOfBlocks(scratchSteps, count - 1)]
  if (blockBytes === undefined && stepBytes === undefined) return packPlain(writer, numbers, count)
  const bySteps = blockBytes === undefined || (stepBytes !== undefined && stepBytes < blockBytes)
  writer.bytes[writer.length++] = bySteps ? differences : scaled
  writer.bytes[writer.length++] = decimals
  if (!bySteps) return writeBlocks(writer, scratch, count)
  writeVarint(writer, zigzag(scratch[0]!))
  writeBlocks(writer, scratchSteps, count - 1)
}

function packPlain(writer: Writer, numbers: Float64Array, count: number) {
  writer.bytes[writer.length++] = plain
  writePlain(writer, numbers, count)
}

function unpackNumbers(reader: Reader, count: number): Float64Array {
  if (skipPlain(reader)) return readPlain(reader, count)
  const numbers = new Float64Array(count)
  const power = unpackIntegers(reader, count, numbers)
  if (power !== 1) for (let index = 0; index < count; index++) numbers[index] = numbers[index]! / power
  return numbers
}

/** If the numbers are stored as eight bytes each, skips the marker and returns true. */
export function skipPlain(reader: Reader): boolean {
  if (reader.bytes[reader.at] !== plain) return false
  reader.at++
  return true
}

/** Unpacks integers into `integers`. Returns the number by which they must be divided. */
export function unpackIntegers(reader: Reader, count: number, integers: Float64Array): number {
  const encoding = reader.bytes[reader.at++]
  const power = powers[reader.bytes[reader.at++]!]
  if (power === undefined || (encoding !== scaled && encoding !== differences))
    throw new Error('a packed chunk is damaged')
  if (encoding === scaled) {
    readBlocks(reader, integers, count)
    return power
  }
  let current = unzigzag(readVarint(reader))
  integers[0] = current
  readBlocks(reader, integers.subarray(1, count), count - 1)
  for (let index = 1; index < count; index++) {
    current += integers[index]!
    integers[index] = current
  }
  return power
}

/** Returns the fewest decimals that represent all numbers exactly, or undefined if there is no such number of decimals. */
function decimalsOf(numbers: Float64Array, count: number): number | undefined {
  let decimals = 0
  for (let index = 0; index < count; index++) {
    const value = numbers[index]!
    if (Number.isNaN(value)) continue
    if (Object.is(value, -0)) return undefined
    while (!isWhole(value, powers[decimals]!)) if (++decimals > decimalsMax) return undefined
  }
  // The first numbers were checked with fewer decimals. With more decimals, their scaled values can reach 2^51, which is too large.
  for (let index = 0; index < count; index++) {
    const value = numbers[index]!
    if (!Number.isNaN(value) && !isWhole(value, powers[decimals]!)) return undefined
  }
  return decimals
}

function isWhole(value: number, power: number): boolean {
  const scaledValue = Math.round(value * power)
  return scaledValue / power === value && scaledValue < wholeMax && scaledValue > -wholeMax
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
