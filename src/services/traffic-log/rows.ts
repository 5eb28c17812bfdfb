/**
 * Encodes records in the binary format of COPY as soon as they are added. Until the commit, only these bytes are kept in memory,
 * no object per record.
 */
import { isUtf8 } from 'node:buffer'
import type { TrafficRecord } from './contract.ts'

export interface Rows {
  readonly count: number
  readonly bytes: number
  /** Times of the earliest and the latest record, in microseconds since 1970. */
  readonly from: number
  readonly to: number
  add(record: TrafficRecord, micros: number): void
  /** Returns the complete data for COPY. Records older than `notBefore` get that time. */
  finish(notBefore?: number): Buffer
}

/** The columns in the order in which `add` writes them. */
export const columns = [
  'created_at',
  'request_id',
  'outbound',
  'tenant_id',
  'endpoint_id',
  'application_name',
  'version_name',
  'extension',
  'correlation_id',
  'resource_path',
  'additional_metadata',
  'payload',
]

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailerLength = 2
/** Bytes of a row without its texts: field count, field lengths, and the fields of fixed size. */
const fixedLength = 2 + columns.length * 4 + 8 + 8 + 1
/** PostgreSQL stores times relative to the year 2000. */
const epochMicros = Date.UTC(2000, 0, 1) * 1000
const highWordFactor = 2 ** 32
const shortLength = 64

export function createRows(payloadBytesMax: number, capacity = 64 * 1024): Rows {
  let buffer = Buffer.allocUnsafeSlow(capacity)
  let offset = header.copy(buffer)
  let count = 0
  let from = Number.POSITIVE_INFINITY
  let to = Number.NEGATIVE_INFINITY

  function reserve(bytes: number) {
    if (offset + bytes <= buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(buffer.length * 2, offset + bytes))
    buffer.copy(larger, 0, 0, offset)
    buffer = larger
  }
  function int32(value: number) {
    buffer[offset] = value >>> 24
    buffer[offset + 1] = value >>> 16
    buffer[offset + 2] = value >>> 8
    buffer[offset + 3] = value
    offset += 4
  }
  /** Writes an integer of up to 2^53, which may be negative. */
  function int64(value: number) {
    int32(8)
    int32(Math.floor(value / highWordFactor))
    int32(value)
  }
  /** Writes a text. Short ASCII texts are copied in a loop, which takes half the time of `Buffer.write`. */
  function text(value: string) {
    let length = 0
    for (; length < value.length && length < shortLength; length++) {
      const letter = value.charCodeAt(length)
      if (letter === 0 || letter > 127) break
      buffer[offset + 4 + length] = letter
    }
    if (length < value.length) length = buffer.write(withoutNul(value), offset + 4)
    int32(length)
    offset += length
  }
  function bytes(value: Buffer, length: number) {
    int32(length)
    offset += value.copy(buffer, offset, 0, length)
  }

  return {
    get count() {
      return count
    },
    get bytes() {
      return offset
    },
    get from() {
      return from
    },
    get to() {
      return to
    },
    add(record, micros) {
      const { payload } = record
      const isReadable = isText(payload)
      const length =
        payload.length <= payloadBytesMax ? payload.length : truncatedLength(payload, payloadBytesMax, isReadable)
      const encoded = isReadable ? undefined : payload.toString('base64', 0, length)
      const metadata = metadataText(record.additionalMetadata, payload.length, length, isReadable)
      const texts = textsOf(record)
      let bytesMax = fixedLength + (encoded?.length ?? length) + (metadata?.length ?? 0) * 3 + trailerLength
      for (let index = 0; index < texts.length; index++) bytesMax += texts[index]!.length * 3
      reserve(bytesMax)

      buffer[offset] = 0
      buffer[offset + 1] = columns.length
      offset += 2
      int64(micros - epochMicros)
      if (record.requestId === undefined) int32(-1)
      else int64(record.requestId)
      int32(1)
      buffer[offset++] = record.direction === 'OUTBOUND' ? 1 : 0
      for (let index = 0; index < texts.length; index++) text(texts[index]!)
      if (metadata === undefined) int32(-1)
      else text(metadata)
      if (encoded === undefined) bytes(payload, length)
      else text(encoded)

      count++
      if (micros < from) from = micros
      if (micros > to) to = micros
    },
    finish(notBefore = from) {
      if (from < notBefore) raiseTimes(buffer.subarray(0, offset), notBefore - epochMicros)
      reserve(trailerLength)
      buffer.writeInt16BE(-1, offset)
      return buffer.subarray(0, offset + trailerLength)
    },
  }
}

/** Returns the columns from `tenant_id` to `resource_path`. */
const textsOf = (record: TrafficRecord) => [
  record.tenantId,
  record.endpointId,
  record.applicationName,
  record.versionName,
  record.extension,
  record.correlationId,
  record.resourcePath,
]

/** Returns whether PostgreSQL can store the payload as text: UTF-8 without NUL. */
const isText = (payload: Buffer) => isUtf8(payload) && !payload.includes(0)

const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text)

/** Returns the length after truncation; a text is not cut within a character. */
function truncatedLength(payload: Buffer, most: number, readable: boolean): number {
  let length = most
  if (readable) while (length > 0 && (payload[length]! & 0xc0) === 0x80) length--
  return length
}

/** JSON by metadata object, because thousands of records share the same object. */
const jsonCache = new WeakMap<object, string>()

function cachedJson(given: Record<string, unknown>): string {
  let text = jsonCache.get(given)
  if (text === undefined) {
    text = JSON.stringify(given)
    jsonCache.set(given, text)
  }
  return text
}

function metadataText(
  given: Record<string, unknown> | undefined,
  whole: number,
  kept: number,
  readable: boolean,
): string | undefined {
  if (readable && whole === kept) return given && cachedJson(given)
  return JSON.stringify({
    ...given,
    ...(!readable && { encoding: 'base64' }),
    ...(whole !== kept && { payloadTruncated: true, payloadBytes: whole }),
  })
}

/** Sets the time of older rows to `least`. The time is the first field of each row. */
function raiseTimes(rows: Buffer, least: number) {
  for (let position = header.length; position < rows.length; ) {
    if (rows.readInt32BE(position + 6) * highWordFactor + rows.readUInt32BE(position + 10) < least) {
      rows.writeInt32BE(Math.floor(least / highWordFactor), position + 6)
      rows.writeUInt32BE(least >>> 0, position + 10)
    }
    const fields = rows.readInt16BE(position)
    position += 2
    for (let field = 0; field < fields; field++) position += 4 + Math.max(0, rows.readInt32BE(position))
  }
}
