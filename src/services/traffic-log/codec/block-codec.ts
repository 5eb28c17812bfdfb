/**
 * Encodes columns of records as two parts, each compressed with zstd: a head with all small columns, and the payloads. A reader that needs
 * no payload decompresses only the head. ADR 26 describes the format.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { createByteReader, createByteWriter } from './bytes.ts'
import type { Columns, Kind } from './columns.ts'

const formatVersion = 1
/** Flags of the second byte. */
const headCompressed = 1
const payloadsCompressed = 2
const hasEndpointIds = 4
const headerBytes = 10
/** Minimum length of a part that is compressed. For a shorter part, the call of zstd takes longer than the rest of the encoding. */
const compressedMin = 200
/** Level 1 takes a quarter less time than the default level 3, and compresses these columns and payloads equally well. */
const params = { [constants.ZSTD_c_compressionLevel]: 1 }
/** zstd allocates its output in pieces of this many bytes. Most parts shrink to a quarter of their size. */
const outputPiece = (bytes: number) => Math.min(16 * 1024, Math.max(1024, bytes >> 2))

export interface EncodeOptions {
  /** False if the endpoint of each record is stored next to the data. */
  withEndpoints: boolean
}

export function encodeColumns(columns: Columns, { withEndpoints }: EncodeOptions): Buffer {
  const head = compressed(encodeHead(columns, withEndpoints))
  const payloads = compressed(columns.payloads())
  const data = Buffer.allocUnsafe(headerBytes + head.bytes.length + payloads.bytes.length)
  data[0] = formatVersion
  data[1] =
    (head.isCompressed ? headCompressed : 0) |
    (payloads.isCompressed ? payloadsCompressed : 0) |
    (withEndpoints ? hasEndpointIds : 0)
  data.writeUInt32LE(head.bytes.length, 2)
  data.writeUInt32LE(columns.payloads().length, 6)
  head.bytes.copy(data, headerBytes)
  payloads.bytes.copy(data, headerBytes + head.bytes.length)
  return data
}

function compressed(bytes: Buffer): { bytes: Buffer; isCompressed: boolean } {
  if (bytes.length < compressedMin) return { bytes, isCompressed: false }
  const smaller = zstdCompressSync(bytes, { params, chunkSize: outputPiece(bytes.length) })
  return smaller.length < bytes.length ? { bytes: smaller, isCompressed: true } : { bytes, isCompressed: false }
}

const writer = createByteWriter()

/** Encodes the head. The returned view is valid until the next call. */
function encodeHead(columns: Columns, withEndpoints: boolean): Buffer {
  const { count, kinds, texts, endpointIds } = columns
  writer.clear()
  writer.unsigned(count)
  writer.text(
    JSON.stringify(
      kinds.map((kind) => [kind.applicationName, kind.versionName, kind.extension, kind.outbound, kind.isText]),
    ),
  )
  writer.unsigned(texts.length)
  for (const text of texts) writer.text(text)
  if (withEndpoints) {
    writer.unsigned(endpointIds.length)
    for (const id of endpointIds) writer.text(id)
    for (let index = 0; index < count; index++) writer.unsigned(columns.endpoint[index]!)
  }
  deltas(columns.micros)
  for (const column of [columns.kind, columns.path, columns.metadata, columns.correlationText])
    for (let index = 0; index < count; index++) writer.unsigned(column[index]!)
  deltas(columns.correlationNumber)
  deltas(columns.requestId)
  for (let index = 0; index < count; index++)
    writer.unsigned(columns.payloadEnd[index]! - (index === 0 ? 0 : columns.payloadEnd[index - 1]!))
  for (let index = 0; index < count; index++) writer.unsigned(columns.bytesLeftOut[index]!)
  return writer.view()

  function deltas(column: ArrayLike<number>) {
    let previous = 0
    for (let index = 0; index < count; index++) {
      writer.signed(column[index]! - previous)
      previous = column[index]!
    }
  }
}

/** Decodes columns. If the data contains no endpoint ids, `endpointIds` is empty. Payloads are decompressed when they are first read. */
export function decodeColumns(data: Buffer): Columns {
  if (data[0] !== formatVersion) throw new Error(`a block of the traffic log has the unknown format ${data[0]}`)
  const flags = data[1]!
  const headEnd = headerBytes + data.readUInt32LE(2)
  const headBytes = data.subarray(headerBytes, headEnd)
  const reader = createByteReader(flags & headCompressed ? zstdDecompressSync(headBytes) : headBytes)
  const count = reader.unsigned()
  const kinds = (JSON.parse(reader.text()) as [string, string, string, boolean, boolean][]).map(
    ([applicationName, versionName, extension, outbound, isText]): Kind => ({
      applicationName,
      versionName,
      extension,
      outbound,
      isText,
    }),
  )
  const textsOf = (length: number) => Array.from({ length }, reader.text)
  const column = (next: () => number) => {
    const values = new Float64Array(count)
    for (let index = 0; index < count; index++) values[index] = next()
    return values
  }
  const sums = (next: () => number) => {
    let sum = 0
    return column(() => (sum += next()))
  }
  const texts = textsOf(reader.unsigned())
  const endpointIds = flags & hasEndpointIds ? textsOf(reader.unsigned()) : []
  const endpoint = flags & hasEndpointIds ? column(reader.unsigned) : new Float64Array(count)
  let payloads: Buffer | undefined
  return {
    count,
    kinds,
    texts,
    endpointIds,
    endpoint,
    micros: sums(reader.signed),
    kind: column(reader.unsigned),
    path: column(reader.unsigned),
    metadata: column(reader.unsigned),
    correlationText: column(reader.unsigned),
    correlationNumber: sums(reader.signed),
    requestId: sums(reader.signed),
    payloadEnd: sums(reader.unsigned),
    bytesLeftOut: column(reader.unsigned),
    payloads() {
      payloads ??= flags & payloadsCompressed ? zstdDecompressSync(data.subarray(headEnd)) : data.subarray(headEnd)
      return payloads
    },
  }
}
