/**
 * Holds many records of a tenant in memory, column by column. Texts that repeat are stored once, and all payloads are in one buffer, so
 * that a waiting record needs no object of its own.
 */

import { returnBuffer, takeBuffer } from '../../../kernel/spare-buffers.ts'

/** A record as it is stored in the log. */
export interface StoredRecord {
  /** Microseconds since 1970. */
  micros: number
  applicationName: string
  versionName: string
  extension: string
  outbound: boolean
  endpointId: string
  correlationId: string
  resourcePath: string
  requestId: number | undefined
  /** The JSON text of the metadata, as it was written. */
  metadata: string | undefined
  /** The bytes that are kept, whether they are text or not. */
  payload: Buffer
  /** False if the payload is shown as base64. */
  isText: boolean
  /** Size of the payload as it was sent. It is more than the length of `payload` if the payload was truncated or left out. */
  payloadBytes: number
}

export type Kind = Pick<StoredRecord, 'applicationName' | 'versionName' | 'extension' | 'outbound' | 'isText'>

/** Records, column by column. An index in a column is the index of a record. */
export interface Columns {
  readonly count: number
  readonly micros: ArrayLike<number>
  readonly kinds: readonly Kind[]
  readonly kind: ArrayLike<number>
  readonly endpointIds: readonly string[]
  readonly endpoint: ArrayLike<number>
  readonly texts: readonly string[]
  readonly path: ArrayLike<number>
  /** Index in `texts`, plus 1; 0 if the record has no metadata. */
  readonly metadata: ArrayLike<number>
  /** The request id; -1 if the record has no request id. */
  readonly requestId: ArrayLike<number>
  /** A correlation id is stored as a text and a number. The number is the end of the id in base 36, or -1 if the id has no such end. */
  readonly correlationText: ArrayLike<number>
  readonly correlationNumber: ArrayLike<number>
  readonly payloadEnd: ArrayLike<number>
  /** Number of payload bytes that were not kept. */
  readonly bytesLeftOut: ArrayLike<number>
  /** All payloads, one after the other. */
  payloads(): Buffer
}

export interface ColumnsBuilder extends Columns {
  /** Approximate size in memory. */
  readonly bytes: number
  add(record: StoredRecord): void
  /** Returns the memory of the payloads for reuse. Call it after the columns were encoded: payloads cannot be read any more. */
  release(): void
}

interface Dictionary {
  texts: string[]
  indexOf(text: string): number
}

function createDictionary(): Dictionary {
  const texts: string[] = []
  const known = new Map<string, number>()
  return {
    texts,
    indexOf(text) {
      let index = known.get(text)
      if (index === undefined) {
        index = texts.push(text) - 1
        known.set(text, index)
      }
      return index
    },
  }
}

const numberPattern = /^(.*-)([1-9a-z][0-9a-z]{0,9})$/
/** Bytes of a record in memory besides its texts and payload. */
const recordBytes = 96

/** Holds payloads one after the other, in a buffer that is reused after `release`. */
function createPayloads(capacity: number) {
  let buffer = takeBuffer(capacity)
  let length = 0
  return {
    get length() {
      return length
    },
    /** Adds a payload and returns the position after its end. */
    add(payload: Buffer): number {
      if (length + payload.length > buffer.length) {
        const larger = takeBuffer(Math.max(buffer.length * 2, length + payload.length))
        buffer.copy(larger, 0, 0, length)
        returnBuffer(buffer)
        buffer = larger
      }
      length += payload.copy(buffer, length)
      return length
    },
    view: () => buffer.subarray(0, length),
    release() {
      returnBuffer(buffer)
      buffer = Buffer.alloc(0)
      length = 0
    },
  }
}

export function createColumns(payloadCapacity = 16 * 1024): ColumnsBuilder {
  const [texts, endpoints, kindKeys] = [createDictionary(), createDictionary(), createDictionary()]
  const kinds: Kind[] = []
  const numbers = (): number[] => []
  const [micros, kind, endpoint, path, metadata] = [numbers(), numbers(), numbers(), numbers(), numbers()]
  const [requestId, correlationText, correlationNumber] = [numbers(), numbers(), numbers()]
  const [payloadEnd, bytesLeftOut] = [numbers(), numbers()]
  const payloads = createPayloads(payloadCapacity)
  let textBytes = 0
  let [lastPrefix, lastPrefixIndex] = ['', -1]

  function kindOf({ applicationName, versionName, extension, outbound, isText }: StoredRecord): number {
    const last = kinds[kind[kind.length - 1] ?? -1]
    if (
      last &&
      last.versionName === versionName &&
      last.extension === extension &&
      last.outbound === outbound &&
      last.isText === isText &&
      last.applicationName === applicationName
    )
      return kind[kind.length - 1]!
    const index = kindKeys.indexOf(JSON.stringify([applicationName, versionName, extension, outbound, isText]))
    kinds[index] ??= { applicationName, versionName, extension, outbound, isText }
    return index
  }

  function addCorrelation(id: string) {
    const dash = id.lastIndexOf('-')
    const digits = id.length - dash - 1
    // Correlation ids of the gateway are a known prefix and a number. They are parsed without a regular expression.
    if (dash >= 0 && digits > 0 && digits <= 10 && id.startsWith(lastPrefix) && lastPrefix.length === dash + 1) {
      const value = Number.parseInt(id.slice(dash + 1), 36)
      if (value.toString(36) === id.slice(dash + 1)) {
        correlationText.push(lastPrefixIndex)
        correlationNumber.push(value)
        return
      }
    }
    const [, prefix, number] = id.match(numberPattern) ?? []
    if (prefix === undefined) {
      textBytes += id.length
      correlationText.push(texts.indexOf(id))
      correlationNumber.push(-1)
      return
    }
    lastPrefix = prefix
    lastPrefixIndex = texts.indexOf(prefix)
    correlationText.push(lastPrefixIndex)
    correlationNumber.push(Number.parseInt(number!, 36))
  }

  return {
    get count() {
      return micros.length
    },
    get bytes() {
      return payloads.length + textBytes + micros.length * recordBytes
    },
    micros,
    kinds,
    kind,
    endpointIds: endpoints.texts,
    endpoint,
    texts: texts.texts,
    path,
    metadata,
    requestId,
    correlationText,
    correlationNumber,
    payloadEnd,
    bytesLeftOut,
    payloads: payloads.view,
    release: payloads.release,
    add(record) {
      kind.push(kindOf(record))
      micros.push(record.micros)
      endpoint.push(endpoints.indexOf(record.endpointId))
      path.push(texts.indexOf(record.resourcePath))
      metadata.push(record.metadata === undefined ? 0 : texts.indexOf(record.metadata) + 1)
      requestId.push(record.requestId ?? -1)
      addCorrelation(record.correlationId)
      payloadEnd.push(payloads.add(record.payload))
      bytesLeftOut.push(record.payloadBytes - record.payload.length)
    },
  }
}

export function correlationIdAt(columns: Columns, index: number): string {
  const text = columns.texts[columns.correlationText[index]!]!
  const number = columns.correlationNumber[index]!
  return number < 0 ? text : text + number.toString(36)
}

export function payloadAt(columns: Columns, index: number): Buffer {
  return columns.payloads().subarray(index === 0 ? 0 : columns.payloadEnd[index - 1]!, columns.payloadEnd[index]!)
}

export const metadataAt = ({ metadata, texts }: Columns, index: number): string | undefined =>
  metadata[index] === 0 ? undefined : texts[metadata[index]! - 1]!

export function payloadBytesAt({ payloadEnd, bytesLeftOut }: Columns, index: number): number {
  return payloadEnd[index]! - (index === 0 ? 0 : payloadEnd[index - 1]!) + bytesLeftOut[index]!
}

export function recordAt(columns: Columns, index: number): StoredRecord {
  const requestId = columns.requestId[index]!
  return {
    micros: columns.micros[index]!,
    ...columns.kinds[columns.kind[index]!]!,
    endpointId: columns.endpointIds[columns.endpoint[index]!]!,
    correlationId: correlationIdAt(columns, index),
    resourcePath: columns.texts[columns.path[index]!]!,
    requestId: requestId < 0 ? undefined : requestId,
    metadata: metadataAt(columns, index),
    payload: payloadAt(columns, index),
    payloadBytes: payloadBytesAt(columns, index),
  }
}
