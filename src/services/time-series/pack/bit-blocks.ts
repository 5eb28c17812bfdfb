/**
 * Encodes whole numbers in blocks of 128 with as few bits as possible. Each block stores its minimum and a width of 0 to 32 bits per
 * number. Callers store wider numbers in another way.
 */
export const blockSize = 128

/** A growing buffer. It is reused for a whole packing run. */
export interface Writer {
  bytes: Uint8Array
  view: DataView
  length: number
}

export function createWriter(size = 65_536): Writer {
  const bytes = new Uint8Array(size)
  return { bytes, view: new DataView(bytes.buffer), length: 0 }
}

export function reserve(writer: Writer, more: number) {
  if (writer.length + more <= writer.bytes.length) return
  const bytes = new Uint8Array(Math.max(writer.bytes.length * 2, writer.length + more))
  bytes.set(writer.bytes.subarray(0, writer.length))
  writer.bytes = bytes
  writer.view = new DataView(bytes.buffer)
}

export interface Reader {
  bytes: Uint8Array
  view: DataView
  at: number
}

export const createReader = (bytes: Uint8Array, at = 0): Reader => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  at,
})

/** Writes a number up to 2^53 with seven bits per byte, lowest bits first. */
export function writeVarint(writer: Writer, value: number) {
  reserve(writer, 8)
  const { bytes } = writer
  let rest = value
  while (rest >= 0x80) {
    bytes[writer.length++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  bytes[writer.length++] = rest
}

export function readVarint(reader: Reader): number {
  const { bytes } = reader
  let [value, scale] = [0, 1]
  for (;;) {
    const byte = bytes[reader.at++]
    if (byte === undefined) throw new Error('a packed chunk ends too early')
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return value
    scale *= 0x80
  }
}

/** Maps small negative numbers to small positive numbers. */
export const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value)
export const unzigzag = (value: number) => (value % 2 === 1 ? -(value + 1) / 2 : value / 2)

const widthMax = 32

/** Returns the number of bits that a range needs, or undefined if it needs more than 32. */
export function widthOf(range: number): number | undefined {
  if (range > 0xffff_ffff) return undefined
  return range === 0 ? 0 : widthMax - Math.clz32(range)
}

interface Range {
  least: number
  most: number
}

function rangeOf(numbers: Float64Array, from: number, to: number): Range {
  let [least, most] = [numbers[from]!, numbers[from]!]
  for (let index = from + 1; index < to; index++) {
    const value = numbers[index]!
    if (value < least) least = value
    else if (value > most) most = value
  }
  return { least, most }
}

/** Returns the bytes that `writeBlocks` would take, or undefined if a block exceeds 32 bits. */
export function sizeOfBlocks(numbers: Float64Array, count: number): number | undefined {
  let bytes = 0
  for (let from = 0; from < count; from += blockSize) {
    const to = Math.min(from + blockSize, count)
    const { least, most } = rangeOf(numbers, from, to)
    const width = widthOf(most - least)
    if (width === undefined) return undefined
    bytes += 1 + varintSize(zigzag(least)) + Math.ceil((width * (to - from)) / 8)
  }
  return bytes
}

function varintSize(value: number): number {
  let [size, rest] = [1, value]
  while (rest >= 0x80) {
    rest = Math.floor(rest / 0x80)
    size++
  }
  return size
}

export function writeBlocks(writer: Writer, numbers: Float64Array, count: number) {
  for (let from = 0; from < count; from += blockSize) {
    const to = Math.min(from + blockSize, count)
    const { least, most } = rangeOf(numbers, from, to)
    const width = widthOf(most - least)
    if (width === undefined) throw new Error('a block of more than 32 bits')
    reserve(writer, 1)
    writer.bytes[writer.length++] = width
    writeVarint(writer, zigzag(least))
    writeBits(writer, numbers, from, to, least, width)
  }
}

function writeBits(writer: Writer, numbers: Float64Array, from: number, to: number, least: number, width: number) {
  if (width === 0) return
  reserve(writer, Math.ceil((width * (to - from)) / 8) + 4)
  const { bytes } = writer
  let [word, used, at] = [0, 0, writer.length]
  for (let index = from; index < to; index++) {
    const value = (numbers[index]! - least) >>> 0
    word |= value << used
    used += width
    if (used < 32) continue
    bytes[at++] = word & 0xff
    bytes[at++] = (word >>> 8) & 0xff
    bytes[at++] = (word >>> 16) & 0xff
    bytes[at++] = word >>> 24
    used -= 32
    // The next word begins with the bits of the value that did not fit into the full word.
    word = used === 0 ? 0 : value >>> (width - used)
  }
  for (; used > 0; used -= 8) {
    bytes[at++] = word & 0xff
    word >>>= 8
  }
  writer.length = at
}

export function readBlocks(reader: Reader, numbers: Float64Array, count: number) {
  for (let from = 0; from < count; from += blockSize) {
    const to = Math.min(from + blockSize, count)
    const width = reader.bytes[reader.at++]
    if (width === undefined || width > widthMax) throw new Error('a packed chunk is damaged')
    const least = unzigzag(readVarint(reader))
    readBits(reader, numbers, from, to, least, width)
  }
}

/** Maximum width in bits for the fast path, because wider numbers may span five bytes and `getUint32` reads four. */
const narrowMax = 25

function readBits(reader: Reader, numbers: Float64Array, from: number, to: number, least: number, width: number) {
  if (width === 0) {
    numbers.fill(least, from, to)
    return
  }
  const { bytes, view, at: start } = reader
  reader.at += Math.ceil((width * (to - from)) / 8)
  if (reader.at > bytes.length) throw new Error('a packed chunk ends too early')
  const mask = width === 32 ? 0xffff_ffff : (1 << width) - 1
  let [index, bit] = [from, 0]
  if (width <= narrowMax) {
    // The fast path reads numbers whose four bytes are within the buffer.
    const fastEnd = Math.min(to, from + Math.floor(((bytes.length - start - 4) * 8 + 7) / width) + 1)
    for (; index < fastEnd; index++) {
      numbers[index] = ((view.getUint32(start + (bit >>> 3), true) >>> (bit & 7)) & mask) + least
      bit += width
    }
  }
  for (; index < to; index++) {
    const byteIndex = start + (bit >>> 3)
    const shift = bit & 7
    const low =
      bytes[byteIndex]! |
      ((bytes[byteIndex + 1] ?? 0) << 8) |
      ((bytes[byteIndex + 2] ?? 0) << 16) |
      ((bytes[byteIndex + 3] ?? 0) << 24)
    const value = shift === 0 ? low : (low >>> shift) | ((bytes[byteIndex + 4] ?? 0) << (32 - shift))
    numbers[index] = ((value & mask) >>> 0) + least
    bit += width
  }
}

/** Returns true and skips the blocks if all numbers are 0. */
export function skipZeros(reader: Reader, count: number): boolean {
  const end = reader.at + 2 * Math.ceil(count / blockSize)
  for (let at = reader.at; at < end; at++) if (reader.bytes[at] !== 0) return false
  reader.at = end
  return true
}
