/** The records of one commit, by tenant. Their bytes are copied when they are added, so that callers can reuse their buffers. */
import { isUtf8 } from 'node:buffer'
import type { LiveEvent } from '../../kernel/live/live.ts'
import { encodeColumns } from './codec/block-codec.ts'
import type { StoredRecord } from './codec/columns.ts'
import { type ColumnsBuilder, createColumns } from './codec/columns.ts'
import { type Group, groupsOf, hashOfEndpoint } from './codec/groups.ts'
import type { TrafficRecord } from './contract.ts'

/** A row of traffic_log.batches. */
export interface Batch {
  tenantId: string
  batchId: string
  /** Microseconds since 1970. */
  firstAt: number
  lastAt: number
  n: number
  groups: Group[]
  endpointHashes: number[]
  data: Buffer
}

export interface PendingBatches {
  readonly count: number
  readonly bytes: number
  add(record: TrafficRecord, micros: number): void
  /** Returns the batches. The first call encodes the records. */
  finish(): Batch[]
  /** The events of records for live streams. */
  readonly watched: LiveEvent[]
}

export interface PendingOptions {
  batchId: string
  payloadBytesMax: number
  /**
   * Returns the event of a record if a live stream needs it. The event is built immediately, because callers reuse the buffer of the
   * payload.
   */
  eventOf?(record: TrafficRecord, stored: StoredRecord): LiveEvent | undefined
}

export function createPendingBatches({ batchId, payloadBytesMax, eventOf }: PendingOptions): PendingBatches {
  const byTenant = new Map<string, ColumnsBuilder>()
  let [lastTenantId, last]: [string, ColumnsBuilder | undefined] = ['', undefined]
  let [count, bytes] = [0, 0]
  let finished: Batch[] | undefined
  const watched: LiveEvent[] = []

  function columnsOf(tenantId: string): ColumnsBuilder {
    if (last && tenantId === lastTenantId) return last
    const columns = byTenant.get(tenantId) ?? createColumns()
    byTenant.set(tenantId, columns)
    ;[lastTenantId, last] = [tenantId, columns]
    return columns
  }

  return {
    watched,
    get count() {
      return count
    },
    get bytes() {
      return bytes
    },
    add(record, micros) {
      const { payload, requestId } = record
      const isText = isReadable(payload)
      const length =
        payload.length <= payloadBytesMax ? payload.length : truncatedLength(payload, payloadBytesMax, isText)
      const columns = columnsOf(record.tenantId)
      const before = columns.bytes
      const stored: StoredRecord = {
        micros,
        applicationName: record.applicationName,
        versionName: record.versionName,
        extension: record.extension,
        outbound: record.direction === 'OUTBOUND',
        endpointId: withoutNul(record.endpointId),
        correlationId: withoutNul(record.correlationId),
        resourcePath: withoutNul(record.resourcePath),
        requestId,
        metadata: metadataText(record.additionalMetadata, payload.length, length, isText),
        payload: length === payload.length ? payload : payload.subarray(0, length),
        isText,
        payloadBytes: record.payloadBytes ?? payload.length,
      }
      columns.add(stored)
      count++
      bytes += columns.bytes - before
      const event = eventOf?.(record, stored)
      if (!event) return
      watched.push(event)
      bytes += columns.bytes - before
    },
    finish() {
      finished ??= [...byTenant].map(([tenantId, columns]) => batchOf(tenantId, batchId, columns))
      return finished
    },
  }
}

function batchOf(tenantId: string, batchId: string, columns: ColumnsBuilder): Batch {
  let [firstAt, lastAt] = [Number.POSITIVE_INFINITY, 0]
  for (let index = 0; index < columns.count; index++) {
    firstAt = Math.min(firstAt, columns.micros[index]!)
    lastAt = Math.max(lastAt, columns.micros[index]!)
  }
  const batch: Batch = {
    tenantId,
    batchId,
    firstAt,
    lastAt,
    n: columns.count,
    groups: groupsOf(columns),
    endpointHashes: columns.endpointIds.map(hashOfEndpoint),
    data: encodeColumns(columns, { withEndpoints: true }),
  }
  columns.release()
  return batch
}

/** Returns whether the payload is shown as text. It must be UTF-8 without NUL. */
const isReadable = (payload: Buffer) => isUtf8(payload) && !payload.includes(0)

const withoutNul = (text: string) => (text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text)

/** Returns the length after truncation. A text is not cut within a character. */
function truncatedLength(payload: Buffer, lengthMax: number, readable: boolean): number {
  let length = lengthMax
  if (readable) while (length > 0 && (payload[length]! & 0xc0) === 0x80) length--
  return length
}

/** Caches the JSON of each metadata object, because thousands of records share the same object. */
const jsonCache = new WeakMap<object, string>()

function cachedJson(value: Record<string, unknown>): string {
  let text = jsonCache.get(value)
  if (text === undefined) {
    text = JSON.stringify(value)
    jsonCache.set(value, text)
  }
  return text
}

function metadataText(
  value: Record<string, unknown> | undefined,
  whole: number,
  kept: number,
  readable: boolean,
): string | undefined {
  if (readable && whole === kept) return value && cachedJson(value)
  return JSON.stringify({
    ...value,
    ...(!readable && { encoding: 'base64' }),
    ...(whole !== kept && { payloadTruncated: true, payloadBytes: whole }),
  })
}
