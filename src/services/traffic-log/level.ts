/** Applies the log level of an application, which decides which records are kept and which parts of them. */
import type { TrafficLevel } from './configuration.ts'
import type { TrafficRecord } from './contract.ts'

export type Record = (record: TrafficRecord) => Promise<void>

const done = Promise.resolve()
const emptyPayload = Buffer.alloc(0)
/** Maximum number of messages at level `errors` that wait for their response. With more messages, the oldest messages are dropped. */
const waitingMax = 2000
const waitingBytesMax = 4 * 1024 * 1024

/** Returns a function that records what the level of the record's version requires. */
export function createLevelFilter(
  levelOf: (record: TrafficRecord) => TrafficLevel | Promise<TrafficLevel>,
  add: Record,
): Record {
  const errors = createErrorsOnly(add)

  function recordAt(level: TrafficLevel, record: TrafficRecord): Promise<void> {
    if (level === 'all') return add(record)
    if (level === 'headers') return add(withoutPayload(record))
    return level === 'errors' ? errors(record) : done
  }

  return (record) => {
    const level = levelOf(record)
    if (!(level instanceof Promise)) return recordAt(level, record)
    // The caller may reuse its buffer as soon as this function returns.
    const copy = { ...record, payload: Buffer.from(record.payload) }
    const recorded = level.then((known) => recordAt(known, copy))
    recorded.catch(() => {}) // Callers may ignore the promise, so its rejection must be handled here.
    return recorded
  }
}

function withoutPayload(record: TrafficRecord): TrafficRecord {
  const { length } = record.payload
  if (length === 0) return record
  return {
    ...record,
    payload: emptyPayload,
    payloadBytes: length,
    additionalMetadata: { ...record.additionalMetadata, payloadOmitted: true, payloadBytes: length },
  }
}

/** Keeps messages in memory until their response shows whether they were rejected. */
function createErrorsOnly(add: Record): Record {
  const waiting = new Map<string, TrafficRecord>()
  let bytes = 0

  function take(correlationId: string): TrafficRecord | undefined {
    const record = waiting.get(correlationId)
    if (!record) return undefined
    waiting.delete(correlationId)
    bytes -= record.payload.length
    return record
  }

  function keep(record: TrafficRecord) {
    const payload = Buffer.from(record.payload)
    waiting.set(record.correlationId, { ...record, payload })
    bytes += payload.length
    while (waiting.size > waitingMax || bytes > waitingBytesMax) take(waiting.keys().next().value!)
  }

  return (record) => {
    if (record.direction === 'INBOUND') {
      keep(record)
      return done
    }
    const message = take(record.correlationId)
    if (!isError(record)) return done
    if (message) void add(message)
    return add(record)
  }
}

const isError = ({ additionalMetadata }: TrafficRecord) => Number(additionalMetadata?.statusCode) >= 400
