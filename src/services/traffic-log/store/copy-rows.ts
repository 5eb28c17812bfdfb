/** Encodes rows in the binary format of COPY. Used for batches and blocks, whose rows are few and long. */

/** A value of a row, with its type. The fields of a row are in the order of the columns. */
export type Field =
  | { bigint: number }
  | { integer: number }
  | { text: string }
  | { json: unknown }
  | { integers: ArrayLike<number> }
  | { smallints: ArrayLike<number> | null }
  | { bytes: Buffer }

const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailer = Buffer.from([0xff, 0xff])
const integerOid = 23
const smallintOid = 21
const jsonbVersion = Buffer.from([1])

export function copyData(rows: Field[][]): Buffer {
  const parts: Buffer[] = [header]
  for (const fields of rows) {
    const count = Buffer.allocUnsafe(2)
    count.writeInt16BE(fields.length)
    parts.push(count)
    for (const field of fields) {
      const bytes = encoded(field)
      const length = Buffer.allocUnsafe(4)
      length.writeInt32BE(bytes === null ? -1 : bytes.length)
      parts.push(length)
      if (bytes !== null) parts.push(bytes)
    }
  }
  parts.push(trailer)
  return Buffer.concat(parts)
}

function encoded(field: Field): Buffer | null {
  if ('bytes' in field) return field.bytes
  if ('text' in field) return Buffer.from(field.text)
  if ('json' in field) return Buffer.concat([jsonbVersion, Buffer.from(JSON.stringify(field.json))])
  if ('integers' in field) return arrayOf(field.integers, integerOid, 4)
  if ('smallints' in field) return field.smallints && arrayOf(field.smallints, smallintOid, 2)
  const bytes = Buffer.allocUnsafe('bigint' in field ? 8 : 4)
  if ('bigint' in field) bytes.writeBigInt64BE(BigInt(field.bigint))
  else bytes.writeInt32BE(field.integer)
  return bytes
}

const arrayHead = 20

/** Writes an array of one dimension without nulls; an empty array has no dimension. */
function arrayOf(values: ArrayLike<number>, oid: number, size: 2 | 4): Buffer {
  const bytes = Buffer.alloc(values.length === 0 ? 12 : arrayHead + values.length * (4 + size))
  bytes.writeInt32BE(oid, 8)
  if (values.length === 0) return bytes
  bytes.writeInt32BE(1, 0)
  bytes.writeInt32BE(values.length, 12)
  bytes.writeInt32BE(1, 16)
  for (let index = 0; index < values.length; index++) {
    const at = arrayHead + index * (4 + size)
    bytes.writeInt32BE(size, at)
    bytes.writeIntBE(values[index]!, at + 4, size)
  }
  return bytes
}

/** Reads an array of integers that `array_send` returned. */
export function integersIn(bytes: Buffer): Int32Array {
  const count = bytes.length > arrayHead ? bytes.readInt32BE(12) : 0
  const values = new Int32Array(count)
  for (let index = 0; index < count; index++) values[index] = bytes.readInt32BE(arrayHead + index * 8 + 4)
  return values
}
