/** Reads the parts of a packet. All connections share one cursor, because each packet is parsed synchronously. */
import { isUtf8 } from 'node:buffer'
import { Code, MqttError, malformed } from './codes.ts'

/** The read buffer that all MQTT sockets without TLS share. Data must be copied before the next read. */
export const sharedBuffer = Buffer.allocUnsafeSlow(65_536)

/** The buffer that is being parsed; undefined if it will be reused for other data. Parts of this buffer need not be copied. */
let unshared: Buffer | undefined
export const isUnshared = (source: Buffer) => source === unshared
export function setUnshared(source: Buffer | undefined) {
  unshared = source
}

let buffer: Buffer = Buffer.alloc(0)
let position = 0
let end = 0

export function startReading(source: Buffer, start: number, stop: number) {
  buffer = source
  position = start
  end = stop
}

/** Drops the reference to the packet, so that it can be garbage-collected. */
export const endReading = () => startReading(empty, 0, 0)
const empty = Buffer.alloc(0)

export const remainingBytes = () => end - position
export const currentPosition = () => position

/** Limits reading to the next `length` bytes, until `endReadingLimit` is called with the returned value. */
export function limitReading(length: number): number {
  const before = end
  if (length > end - position) throw malformed('a field is longer than the rest of the packet')
  end = position + length
  return before
}
export function endReadingLimit(before: number) {
  end = before
}

function advance(bytes: number): number {
  const start = position
  if (bytes > end - start) throw malformed('the packet is too short')
  position = start + bytes
  return start
}

export const readByte = () => buffer[advance(1)]!
export function readUint16(): number {
  const start = advance(2)
  return (buffer[start]! << 8) | buffer[start + 1]!
}
export const readUint32 = () => buffer.readUInt32BE(advance(4))

export function readVariableInteger(): number {
  let value = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const digit = readByte()
    value |= (digit & 0x7f) << shift
    if (digit >= 0x80) continue
    if (digit === 0 && shift > 0) throw malformed('a variable byte integer has more bytes than it needs')
    return value
  }
  throw malformed('a variable byte integer has more than four bytes')
}

/** Returns a view of the buffer; copy it to keep it. */
export function readBinary(): Buffer {
  const length = readUint16()
  const start = advance(length)
  return buffer.subarray(start, start + length)
}

export function rest(): Buffer {
  const start = advance(end - position)
  return buffer.subarray(start, end)
}

export function readText(bytesMax = 65_535): string {
  const length = readUint16()
  const start = advance(length)
  if (length > bytesMax) throw new MqttError(Code.quotaExceeded, `a text has more than ${bytesMax} bytes`)
  return decode(buffer, start, start + length)
}

/**
 * Decodes a string of MQTT: UTF-8 without U+0000 and surrogates (MQTT-1.5.4-1, -2). Other control characters are rejected too, because they
 * could be used to forge log lines.
 */
export function decode(source: Buffer, start: number, stop: number): string {
  let ascii = true
  for (let index = start; index < stop; index++) {
    const unit = source[index]!
    if (unit < 0x20 || unit === 0x7f) throw malformed('a text contains a control character')
    if (unit >= 0x80) ascii = false
  }
  if (ascii) return source.toString('latin1', start, stop)
  if (!isUtf8(source.subarray(start, stop))) throw malformed('a text is not UTF-8')
  const decoded = source.toString('utf8', start, stop)
  if (/[\u0080-\u009f]/.test(decoded)) throw malformed('a text contains a control character')
  return decoded
}
