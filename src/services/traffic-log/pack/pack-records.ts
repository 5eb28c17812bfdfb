/** Converts the records of a tenant to blocks and counts them. The functions are pure, because they run in a thread of their own. */
import { decodeColumns, encodeColumns } from '../codec/block-codec.ts'
import { type Columns, correlationIdAt, createColumns, payloadBytesAt, recordAt } from '../codec/columns.ts'
import { type Group, groupsOf } from '../codec/groups.ts'

/** Encoded records. */
export interface PackSource {
  data: Uint8Array
  /** The endpoint of each record, if the data does not contain the endpoints. */
  endpointIds?: string[] | undefined
  /** True if the records are already included in the counts. */
  isCounted?: boolean | undefined
}

/** A block whose endpoints have no numbers assigned yet. */
export interface PackedBlock {
  /** Days since 1970. */
  day: number
  firstAt: number
  lastAt: number
  n: number
  groups: Group[]
  endpointIds: string[]
  /** Index in `endpointIds` of each record. */
  endpoint: Int32Array
  requestIds: Int32Array | null
  data: Uint8Array
}

/** The count of records within five minutes. */
export interface Count extends Group {
  /** Milliseconds since 1970. */
  since: number
}

export interface PackResult {
  blocks: PackedBlock[]
  counts: Count[]
}

/** Maximum number of records in a block. A larger block compresses better, but a reader must decode the whole block for one record. */
export const recordsPerBlock = 192
const hourMicros = 3_600_000_000
const dayMicros = 24 * hourMicros
const fiveMinutesMs = 300_000
/** To find blocks, request ids are stored modulo this number. The data contains the whole ids. */
export const requestIdModulus = 2 ** 15

export function packRecords(sources: PackSource[]): PackResult {
  const all = sources.map(columnsOf)
  const order = orderedRecords(all)
  const blocks: PackedBlock[] = []
  const counts = createCounts()
  for (let from = 0; from < order.length; ) {
    const hour = Math.floor(microsOf(all, order[from]!) / hourMicros)
    let to = from
    while (to < order.length && microsOf(all, order[to]!) < (hour + 1) * hourMicros) to++
    const size = Math.ceil((to - from) / Math.ceil((to - from) / recordsPerBlock))
    for (let start = from; start < to; start += size)
      blocks.push(packBlock(all, order.slice(start, Math.min(start + size, to))))
    from = to
  }
  for (const [source, columns] of all.entries())
    if (!sources[source]!.isCounted) for (let index = 0; index < columns.count; index++) counts.add(columns, index)
  return { blocks, counts: counts.result() }
}

/** Counts records without packing them. */
export function countRecords(sources: PackSource[]): Count[] {
  const counts = createCounts()
  for (const columns of sources.map(columnsOf))
    for (let index = 0; index < columns.count; index++) counts.add(columns, index)
  return counts.result()
}

/** Returns the records after a time, encoded with their endpoints. Returns undefined if there are no such records. */
export function recordsAfter(source: PackSource, micros: number): PackSource | undefined {
  const columns = columnsOf(source)
  const kept = createColumns()
  for (let index = 0; index < columns.count; index++)
    if (columns.micros[index]! > micros) kept.add(recordAt(columns, index))
  return kept.count === 0
    ? undefined
    : { ...source, data: encodeColumns(kept, { withEndpoints: true }), endpointIds: undefined }
}

function columnsOf({ data, endpointIds }: PackSource): Columns {
  const columns = decodeColumns(Buffer.from(data.buffer, data.byteOffset, data.length))
  if (!endpointIds) return columns
  return { ...columns, endpointIds, endpoint: Int32Array.from(endpointIds, (_, index) => index) }
}

/** The position of a record: the index of its source, and the index within that source. */
type RecordPosition = [source: number, index: number]
const microsOf = (all: Columns[], [source, index]: RecordPosition) => all[source]!.micros[index]!

function orderedRecords(all: Columns[]): RecordPosition[] {
  const positions = all.flatMap((columns, source) =>
    Array.from({ length: columns.count }, (_, index): RecordPosition => [source, index]),
  )
  return positions.sort((a, b) => microsOf(all, a) - microsOf(all, b) || compareIds(all, a, b))
}

const compareIds = (all: Columns[], [s1, i1]: RecordPosition, [s2, i2]: RecordPosition) => {
  const [id1, id2] = [correlationIdAt(all[s1]!, i1), correlationIdAt(all[s2]!, i2)]
  if (id1 !== id2) return id1 < id2 ? -1 : 1
  return Number(outboundAt(all[s1]!, i1)) - Number(outboundAt(all[s2]!, i2))
}
const outboundAt = ({ kinds, kind }: Columns, index: number) => kinds[kind[index]!]!.outbound

function packBlock(all: Columns[], positions: RecordPosition[]): PackedBlock {
  const columns = createColumns(positions.length * 256)
  for (const [source, index] of positions) columns.add(recordAt(all[source]!, index))
  const firstAt = columns.micros[0]!
  const hasRequestIds = Array.prototype.some.call(columns.requestId, (id: number) => id >= 0)
  return {
    day: Math.floor(firstAt / dayMicros),
    firstAt,
    lastAt: columns.micros[columns.count - 1]!,
    n: columns.count,
    groups: groupsOf(columns),
    endpointIds: [...columns.endpointIds],
    endpoint: Int32Array.from(columns.endpoint),
    requestIds: hasRequestIds
      ? Int32Array.from(columns.requestId, (id) => (id < 0 ? -1 : id % requestIdModulus))
      : null,
    data: encodeColumns(columns, { withEndpoints: false }),
  }
}

interface Counts {
  add(columns: Columns, index: number): void
  result(): Count[]
}

function createCounts(): Counts {
  const found = new Map<string, Count>()
  let [lastKind, lastSince, last]: [object | undefined, number, Count | undefined] = [undefined, -1, undefined]
  return {
    add(columns, index) {
      const kind = columns.kinds[columns.kind[index]!]!
      const since = Math.floor(columns.micros[index]! / 1000 / fiveMinutesMs) * fiveMinutesMs
      if (!last || kind !== lastKind || since !== lastSince) {
        const { applicationName: a, versionName: v, extension: x, outbound: o } = kind
        const key = JSON.stringify([since, a, v, x, o])
        last = found.get(key) ?? { since, a, v, x, o, n: 0, b: 0 }
        found.set(key, last)
        ;[lastKind, lastSince] = [kind, since]
      }
      last.n++
      last.b += payloadBytesAt(columns, index)
    },
    result: () => [...found.values()],
  }
}
