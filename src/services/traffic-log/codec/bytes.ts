/** Writes and reads variable-length integers with 7 bits per byte. The highest bit of a byte means that more bytes follow. */

export interface ByteWriter {
  readonly length: number
  /** Writes an integer from 0 to 2^53. */
  unsigned(value: number): void
  /** Writes an integer from -2^53 to 2^53. Small integers take few bytes. */
  signed(value: number): void
  bytes(value: Uint8Array): void
  text(value: string): void
  /** Returns a view of the bytes written so far. It is valid until the next write. */
  view(): Buffer
  /** Removes all bytes. The memory is kept for the next bytes. */
  clear(): void
}

const initialBytes = 4096
/** Maximum amount of memory that a writer keeps when it is cleared. */
const keptBytesMax = 1024 * 1024
const integerBytesMax = 8
/** This bit of the first byte marks a negative integer. */
const negative = 64

export function createByteWriter(): ByteWriter {
  let buffer = Buffer.allocUnsafeSlow(initialBytes)
  let length = 0
  function reserve(bytes: number) {
    if (length + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, length + bytes))
    buffer.copy(larger, 0, 0, length)
    buffer = larger
  }
  function unsigned(value: number) {
    reserve(integerBytesMax)
    let rest = value
    while (rest > 0x7fffffff) {
      buffer[length++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    while (rest > 127) {
      buffer[length++] = (rest & 127) | 128
      rest >>>= 7
    }
    buffer[length++] = rest
  }
  return {
    get length() {
      return length
    },
    unsigned,
    signed(value) {
      const magnitude = Math.abs(value)
      reserve(1)
      buffer[length++] = (magnitude % 64) | (value < 0 ? negative : 0) | (magnitude > 63 ? 128 : 0)
      if (magnitude > 63) unsigned(Math.floor(magnitude / 64))
    },
    bytes(value) {
      reserve(value.length)
      buffer.set(value, length)
      length += value.length
    },
    text(value) {
      const bytes = Buffer.byteLength(value)
      unsigned(bytes)
      reserve(bytes)
      length += buffer.write(value, length)
    },
    view: () => buffer.subarray(0, length),
    clear() {
      length = 0
      if (buffer.length > keptBytesMax) buffer = Buffer.allocUnsafeSlow(initialBytes)
    },
  }
}

export interface ByteReader {
  unsigned(): number
  signed(): number
  text(): string
}

export function createByteReader(buffer: Buffer): ByteReader {
  let offset = 0
  function unsigned(): number {
    let byte = buffer[offset++]!
    if (byte < 128) return byte
    let value = byte & 127
    let factor = 128
    do {
      byte = buffer[offset++]!
      if (byte === undefined) throw new RangeError('a block of the traffic log ends too early')
      value += (byte & 127) * factor
      factor *= 128
    } while (byte >= 128)
    return value
  }
  return {
    unsigned,
    signed() {
      const byte = buffer[offset++]!
      const magnitude = (byte & 63) + (byte & 128 ? unsigned() * 64 : 0)
      return byte & negative ? -magnitude : magnitude
    },
    text() {
      const length = unsigned()
      offset += length
      return buffer.toString('utf8', offset - length, offset)
    },
  }
}
