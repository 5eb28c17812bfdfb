/** Reads the parts of a packet with one cursor for all connections: a packet is parsed synchronously, so none is interrupted. */
import { isUtf8 } from 'node:buffer'
import { Code, MqttError, malformed } from './codes.ts'

/** The read buffer of all plain sockets. Data must be copied before the next read. */
export const sharedBuffer = Buffer.allocUnsafeSlow(65_536)

/** The buffer that is being parsed, if it is not reused: parts of it need no copy. */
let own: Buffer | undefined
export const isOwn = (source: Buffer) => source === own
export function setOwn(source: Buffer | undefined) {
  own = source
}

let buffer: Buffer = Buffer.alloc(0)
let position = 0
let end = 0

export function readFrom(source: Buffer, start: number, stop: number) {
  buffer = source
  position = start
  end = stop
}

/** Drops the reference to the packet, so that it can be garbage-collected. */
export const doneReading = () => readFrom(empty, 0, 0)
const empty = Buffer.alloc(0)

export const left = () => end - position
export const where = () => position

/** Limits reading to the next `length` bytes, until `widen` is called with the returned value. */
export function narrow(length: number): number {
  const before = end
  if (length > end - position) throw malformed('a part reaches beyond the packet')
  end = position + length
  return before
}
export function widen(before: number) {
  end = before
}

function take(bytes: number): number {
  const start = position
  if (bytes > end - start) throw malformed('the packet is too short')
  position = start + bytes
  return start
}

export const byte = () => buffer[take(1)]!
export function uint16(): number {
  const start = take(2)
  return (buffer[start]! << 8) | buffer[start + 1]!
}
export const uint32 = () => buffer.readUInt32BE(take(4))

export function variableInteger(): number {
  let value = 0
  for (let shift = 0; shift < 28; shift += 7) {
    const digit = byte()
    value |= (digit & 0x7f) << shift
    if (digit >= 0x80) continue
    if (digit === 0 && shift > 0) throw malformed('a variable byte integer is longer than it need be')
    return value
  }
  throw malformed('a variable byte integer has more than four bytes')
}

/** Returns a view of the buffer; copy it to keep it. */
export function binary(): Buffer {
  const length = uint16()
  const start = take(length)
  return buffer.subarray(start, start + length)
}

export function rest(): Buffer {
  const start = take(end - position)
  return buffer.subarray(start, end)
}

export function text(bytesMax = 65_535): string {
  const length = uint16()
  const start = take(length)
  if (length > bytesMax) throw new MqttError(Code.quotaExceeded, `a text has more than ${bytesMax} bytes`)
  return decode(buffer, start, start + length)
}

/**
 * Decodes a text of MQTT: UTF-8 without U+0000 and surrogates (MQTT-1.5.4-1, -2). Control characters are rejected too, because they
 * could be used to forge log lines.
 */
export function decode(source: Buffer, start: number, stop: number): string {
  let ascii = true
  for (let index = start; index < stop; index++) {
    const unit = source[index]!
    if (unit < 0x20 || unit === 0x7f) throw malformed('a text holds a control character')
    if (unit >= 0x80) ascii = false
  }
  if (ascii) return source.toString('latin1', start, stop)
  if (!isUtf8(source.subarray(start, stop))) throw malformed('a text is not UTF-8')
  const decoded = source.toString('utf8', start, stop)
  if (/[\u0080-\u009f]/.test(decoded)) throw malformed('a text holds a control character')
  return decoded
}
