/** Encodes traces in the binary format of COPY as soon as they are added. */
import { returnBuffer, takeBuffer } from '../../../kernel/spare-buffers.ts'
import type { NewTrace } from './traces.ts'

/** The columns in the order in which `add` writes them. */
export const traceColumns = [
  'created_at',
  'id',
  'trace_id',
  'entity_id',
  'is_failure',
  'is_on_demand',
  'duration_ms',
  'tenant_id',
  'entity_type',
  'raised_on_id',
  'stage',
  'reason',
  'metadata',
  'event',
]

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailerLength = 2
/** Bytes of a row without its texts: the field count, the field lengths, and the fields of fixed size. */
const fixedLength = 2 + traceColumns.length * 4 + 8 + 3 * 16 + 2 + 8
/** Microseconds from 1970 to 2000, because PostgreSQL counts times from the year 2000. */
const epochMicros = Date.UTC(2000, 0, 1) * 1000
const highWordFactor = 2 ** 32

/** Returns whether the tenant may store the details of a trace with this number of bytes. */
export type AllowDetails = (tenantId: string, bytes: number) => boolean

/** Details that a trace keeps although the tenant has exceeded its quota: they connect the trace with its rule, trigger and event. */
const kept = ['ruleId', 'ruleVersion', 'triggerId', 'triggerType', 'eventId', 'durationMs'] as const
const reasonMax = 200

const withoutDetails = ({ metadata, event: _, reason, ...trace }: NewTrace): NewTrace => ({
  ...trace,
  metadata: {
    ...Object.fromEntries(kept.filter((name) => name in metadata).map((name) => [name, metadata[name]])),
    shortened: true,
  },
  ...(reason !== undefined && { reason: reason.slice(0, reasonMax).toWellFormed() }),
})

export interface TraceRows {
  readonly count: number
  readonly bytes: number
  /**
   * Adds a trace that was created at this time, in microseconds since 1970. `allows` decides whether its details are stored; otherwise the
   * trace has only its result.
   */
  add(trace: NewTrace, createdMicros: number, allows?: AllowDetails): void
  /** Returns the complete data for COPY. */
  finish(): Buffer
  /** Gives the memory back for reuse. Call it when nothing reads the data of `finish` any more. The rows cannot be used afterwards. */
  release(): void
}

const textsOf = (trace: NewTrace) => [
  trace.tenantId,
  trace.entityType,
  trace.raisedOn.entityId,
  trace.stage,
  trace.reason?.replaceAll('\0', '\ufffd'),
  JSON.stringify(trace.metadata),
  trace.event,
]
const lengthOf = (texts: (string | undefined)[]) => texts.reduce((sum, value) => sum + (value?.length ?? 0), 0)

export function createTraceRows(capacity = 64 * 1024): TraceRows {
  let buffer = takeBuffer(capacity)
  let offset = header.copy(buffer)
  let count = 0

  function reserve(bytes: number) {
    if (offset + bytes <= buffer.length) return
    const larger = takeBuffer(Math.max(buffer.length * 2, offset + bytes))
    buffer.copy(larger, 0, 0, offset)
    returnBuffer(buffer)
    buffer = larger
  }
  function micros(value: number) {
    offset = buffer.writeInt32BE(8, offset)
    offset = buffer.writeInt32BE(Math.floor(value / highWordFactor), offset)
    offset = buffer.writeUInt32BE(value >>> 0, offset)
  }
  function uuid(value: string) {
    offset = buffer.writeInt32BE(16, offset)
    offset += buffer.write(value.replaceAll('-', ''), offset, 'hex')
  }
  function flag(value: boolean) {
    offset = buffer.writeInt32BE(1, offset)
    offset = buffer.writeUInt8(value ? 1 : 0, offset)
  }
  function text(value: string | undefined) {
    const length = value === undefined ? -1 : buffer.write(value, offset + 4)
    buffer.writeInt32BE(length, offset)
    offset += 4 + Math.max(0, length)
  }

  return {
    get count() {
      return count
    },
    get bytes() {
      return offset
    },
    add(complete, createdMicros, allows = () => true) {
      let trace = complete
      let texts = textsOf(trace)
      if (!allows(trace.tenantId, fixedLength + lengthOf(texts))) {
        trace = withoutDetails(trace)
        texts = textsOf(trace)
      }
      reserve(lengthOf(texts) * 3 + fixedLength + trailerLength)
      offset = buffer.writeInt16BE(traceColumns.length, offset)
      micros(createdMicros - epochMicros)
      uuid(trace.id)
      uuid(trace.traceId)
      uuid(trace.entityId)
      flag(trace.outcome === 'FAILURE')
      flag(trace.raisedOn.entityType === 'ON_DEMAND')
      offset = buffer.writeInt32BE(8, offset)
      offset = buffer.writeDoubleBE(trace.durationMs, offset)
      for (const value of texts) text(value)
      count++
    },
    finish() {
      reserve(trailerLength)
      buffer.writeInt16BE(-1, offset)
      return buffer.subarray(0, offset + trailerLength)
    },
    release() {
      returnBuffer(buffer)
      buffer = Buffer.alloc(0)
    },
  }
}
