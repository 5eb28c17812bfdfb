/** A row of the table of documents. `encodeRows` writes rows in the binary format of COPY. */
export interface DocumentRow {
  /** 32 hexadecimal digits. */
  id: string
  /** Milliseconds since 1970. */
  arrivedAt: number
  /** The field `@timestamp` of the document, in milliseconds since 1970; null if the field is missing or not a date. */
  ts: number | null
  indexNo: number
  endpointId: string
  versionName: string
  /** JSON text without NUL and lone surrogates. */
  doc: string
}

/** The columns in the order in which `encodeRows` writes them. */
export const columns = ['arrived_at', 'ts', 'index_no', 'id', 'endpoint_id', 'version_name', 'doc']

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const fixedLength = 2 + columns.length * 4 + 8 + 8 + 4 + 16 + 1
const epochMs = Date.UTC(2000, 0, 1)
const highWordFactor = 2 ** 32
const jsonbVersion = 1

export function encodeRows(rows: readonly DocumentRow[]): Buffer {
  let bytes = header.length + 2
  for (const { endpointId, versionName, doc } of rows)
    bytes += fixedLength + (endpointId.length + versionName.length + doc.length) * 3
  const buffer = Buffer.allocUnsafe(bytes)
  let offset = header.copy(buffer)

  function time(ms: number | null) {
    if (ms === null) {
      offset = buffer.writeInt32BE(-1, offset)
      return
    }
    const micros = (ms - epochMs) * 1000
    offset = buffer.writeInt32BE(8, offset)
    offset = buffer.writeInt32BE(Math.floor(micros / highWordFactor), offset)
    offset = buffer.writeUInt32BE(micros - Math.floor(micros / highWordFactor) * highWordFactor, offset)
  }
  function text(value: string, prefix = 0) {
    const length = buffer.write(value, offset + 4 + prefix)
    buffer.writeInt32BE(length + prefix, offset)
    if (prefix > 0) buffer[offset + 4] = jsonbVersion
    offset += 4 + prefix + length
  }

  for (const row of rows) {
    offset = buffer.writeInt16BE(columns.length, offset)
    time(row.arrivedAt)
    time(row.ts)
    offset = buffer.writeInt32BE(4, offset)
    offset = buffer.writeInt32BE(row.indexNo, offset)
    offset = buffer.writeInt32BE(16, offset)
    offset += buffer.write(row.id, offset, 'hex')
    text(row.endpointId)
    text(row.versionName)
    text(row.doc, 1)
  }
  offset = buffer.writeInt16BE(-1, offset)
  return buffer.subarray(0, offset)
}
