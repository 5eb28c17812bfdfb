/** Splits a backup into its parts and assembles manipulated backups with valid checksums, as an attacker could. */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { tagOf } from '../../src/kernel/backup/authentication.ts'
import type { Manifest } from '../../src/kernel/backup/manifest.ts'

export interface Part {
  type: string
  content: Buffer
}

const lineLength = 'WAYPOST BACKUP 3\n'.length

export function partsOf(path: string): Part[] {
  const bytes = readFileSync(path)
  const parts: Part[] = []
  for (let at = lineLength; parts.at(-1)?.type !== 'Z'; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1)
    parts.push({ type: bytes.toString('latin1', at, at + 1), content: bytes.subarray(at + 5, end) })
    at = end
  }
  return parts
}

/** Writes a backup with the authentication tag of the key. Without a key, it writes format 2, which has no tag. */
export function assembleBackup(
  path: string,
  parts: Part[],
  { key, version = key ? 3 : 2 }: { key?: Buffer; version?: number },
) {
  const frames = parts.flatMap(({ type, content }) => {
    const head = Buffer.alloc(5)
    head.write(type, 'latin1')
    head.writeUInt32BE(content.length, 1)
    return [head, content]
  })
  const body = Buffer.concat([Buffer.from(`WAYPOST BACKUP ${version}\n`), ...frames])
  const digest = createHash('sha256').update(body).digest()
  writeFileSync(path, Buffer.concat([body, digest, ...(key ? [tagOf(key, digest)] : [])]))
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value))

export function withManifest(parts: Part[], change: (manifest: Manifest) => void): Part[] {
  const [first, ...rest] = parts
  const manifest = JSON.parse(first!.content.toString()) as Manifest
  change(manifest)
  return [{ type: 'H', content: json(manifest) }, ...rest]
}

/** Replaces the rows of one table and adapts its checksum and the totals. */
export function withRows(parts: Part[], table: string, change: (rows: string) => string): Part[] {
  const manifest = JSON.parse(parts[0]!.content.toString()) as Manifest
  const index = manifest.tables.findIndex(({ schema, name }) => `${schema}.${name}` === table)
  const begin = parts.findIndex(({ type, content }) => type === 'T' && JSON.parse(content.toString()).index === index)
  const end = parts.findIndex(({ type }, at) => at > begin && type === 'E')
  const before = zstdDecompressSync(Buffer.concat(parts.slice(begin + 1, end).map(({ content }) => content)))
  const rows = Buffer.from(change(before.toString()))
  const count = (text: Buffer) => text.filter((byte) => byte === 10).length
  const sum = { rows: count(rows), bytes: rows.length, sha256: createHash('sha256').update(rows).digest('hex') }
  const totals = JSON.parse(parts.at(-1)!.content.toString())
  totals.rows += count(rows) - count(before)
  return [
    ...parts.slice(0, begin + 1),
    { type: 'D', content: zstdCompressSync(rows) },
    { type: 'E', content: json(sum) },
    ...parts.slice(end + 1, -1),
    { type: 'Z', content: json(totals) },
  ]
}
