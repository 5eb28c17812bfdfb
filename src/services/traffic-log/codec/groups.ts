/** Counts records and bytes by application, version, extension and direction. The counts are stored beside the records. */
import { type Columns, type Kind, payloadBytesAt } from './columns.ts'

/** The counts of one group. The field names are short to save space, because every batch and block contains them. */
export interface Group {
  /** Application. */
  a: string
  /** Version. */
  v: string
  /** Extension. */
  x: string
  /** True for messages to the device. */
  o: boolean
  /** Records. */
  n: number
  /** Bytes of the payloads, as they were sent. */
  b: number
}

export function groupsOf(columns: Columns): Group[] {
  const byKind = columns.kinds.map(groupOfKind)
  for (let index = 0; index < columns.count; index++) {
    const group = byKind[columns.kind[index]!]!
    group.n++
    group.b += payloadBytesAt(columns, index)
  }
  return merged(byKind)
}

const groupOfKind = ({ applicationName, versionName, extension, outbound }: Kind): Group => ({
  a: applicationName,
  v: versionName,
  x: extension,
  o: outbound,
  n: 0,
  b: 0,
})

/** Merges groups that differ only in whether the payload is text. */
function merged(groups: Group[]): Group[] {
  const result: Group[] = []
  for (const group of groups) {
    const same = result.find(({ a, v, x, o }) => a === group.a && v === group.v && x === group.x && o === group.o)
    if (same) {
      same.n += group.n
      same.b += group.b
    } else result.push(group)
  }
  return result
}

const fnvOffset = 0x811c9dc5
const fnvPrime = 0x01000193

/** Returns a 32-bit hash (FNV-1a). A search skips batches that do not contain the hash of its endpoint. */
export function hashOfEndpoint(endpointId: string): number {
  let hash = fnvOffset
  for (let index = 0; index < endpointId.length; index++)
    hash = Math.imul(hash ^ endpointId.charCodeAt(index), fnvPrime)
  return hash | 0
}
