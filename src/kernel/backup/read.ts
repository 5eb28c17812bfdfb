/** Reads and verifies backups. */
import { stat } from 'node:fs/promises'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { blobKeyPattern } from '../blobs/blobs.ts'
import { isManifest } from './checked-manifest.ts'
import { createContentMeter, createRowMeter } from './copy.ts'
import type { Passphrase } from './encryption.ts'
import { BackupError, damagedError } from './errors.ts'
import { type FrameReader, openFrames, type Seal } from './format.ts'
import {
  addToTotals,
  type ContentEnd,
  type ContentEntry,
  emptyContentTotals,
  type Manifest,
  type TableEnd,
  type TableEntry,
  type Totals,
} from './manifest.ts'

export interface Verified extends Totals {
  manifest: Manifest
  /** Size of the file. */
  fileBytes: number
  /** The checksum of the unencrypted backup. For a file that is not encrypted, `sha256sum` prints the same checksum. */
  sha256: string
  /** SHA-256 of the file up to the end of its tables. */
  tablesSha256: string
  /** Checksum and authentication tag at the end of the file. `authenticate` checks them. Absent in older formats. */
  seal?: Seal
}

type ReceiveTable = (table: TableEntry, rows: AsyncIterable<Buffer>) => Promise<void>
/** Receives one content. The function need not read the bytes. */
type ReceiveContent = (content: ContentEntry, bytes: AsyncIterable<Buffer>) => Promise<void>

/**
 * Reads the whole file, and passes on the rows of each table and the bytes of each content. Without a receiver, the bytes of contents are
 * only checked, and the rows of tables are skipped. Rows may be used only after the promise has resolved. If bytes of a content differ from
 * their checksum in the file, reading them throws.
 */
export const readBackup = (
  path: string,
  receive: { table?: ReceiveTable; content?: ReceiveContent },
  passphrase?: Passphrase,
): Promise<Verified> =>
  withFrames(path, passphrase, async (frames, manifest) => {
    const tables = await readAllTables(path, frames, manifest, receive.table)
    const tablesSha256 = frames.sha256SoFar()
    const contents = emptyContentTotals()
    for (;;) {
      const { type, content } = await frames.next()
      const value = Object(parseJson(path, content)) as ContentEntry & Totals
      if (type === 'Z') {
        if (value.tables !== tables.tables || value.rows !== tables.rows) throw damagedError(path, 'tables are missing')
        const contentTotals = manifest.contents ? contents : undefined
        if (JSON.stringify(value.contents) !== JSON.stringify(contentTotals))
          throw damagedError(path, 'contents are missing')
        const totals = { ...tables, ...(contentTotals && { contents: contentTotals }) }
        return { ...totals, manifest, fileBytes: frames.bytes, tablesSha256, ...(await frames.finish()) }
      }
      if (!manifest.contents || (type !== 'C' && type !== 'M') || !blobKeyPattern.test(value.key))
        throw damagedError(path, 'its parts are mixed up')
      if (type === 'M') contents.missing++
      else addToTotals(contents, value, await readContent(path, frames, value, receive.content))
    }
  })

/** Reads the tables at the start of the file. The returned checksum equals `tablesSha256` of `readBackup`. */
export const readTables = (
  path: string,
  receive: ReceiveTable,
  passphrase?: Passphrase,
): Promise<{ manifest: Manifest; tablesSha256: string }> =>
  withFrames(path, passphrase, async (frames, manifest) => {
    await readAllTables(path, frames, manifest, receive)
    return { manifest, tablesSha256: frames.sha256SoFar() }
  })

async function withFrames<T>(
  path: string,
  passphrase: Passphrase | undefined,
  work: (frames: FrameReader, manifest: Manifest) => Promise<T>,
): Promise<T> {
  const frames = await openFrames(path, passphrase)
  try {
    const manifest = await readJsonFrame(path, frames, 'H')
    if (!isManifest(manifest)) throw damagedError(path, 'its manifest cannot be read')
    return await work(frames, manifest)
  } finally {
    await frames.close()
  }
}

async function readAllTables(path: string, frames: FrameReader, manifest: Manifest, receive: ReceiveTable | undefined) {
  const totals = { tables: 0, rows: 0, bytes: 0 }
  for (const [index, table] of manifest.tables.entries()) {
    const frame = await frames.next()
    if (frame.type === 'Z') throw damagedError(path, 'tables are missing')
    const content = Object(parseJson(path, frame.content)) as { index: number }
    if (frame.type !== 'T' || content.index !== index) throw damagedError(path, 'its parts are mixed up')
    const { rows, bytes } = receive ? await readTable(path, frames, table, receive) : await skipTable(path, frames)
    totals.tables++
    totals.rows += rows
    totals.bytes += bytes
  }
  return totals
}

async function skipTable(path: string, frames: FrameReader): Promise<TableEnd> {
  for (;;) {
    const { type, content } = await frames.next()
    if (type === 'E') return parseJson(path, content) as TableEnd
    if (type !== 'D') throw damagedError(path, 'its parts are mixed up')
  }
}

async function readContent(
  path: string,
  frames: FrameReader,
  entry: ContentEntry,
  receive: ReceiveContent | undefined,
): Promise<ContentEnd> {
  const meter = createContentMeter()
  let measured: ContentEnd | undefined
  async function* pieces() {
    for (;;) {
      const { type, content } = await frames.next()
      if (type === 'D') {
        meter.add(content)
        yield content
      } else if (type === 'E') {
        const end = Object(parseJson(path, content)) as ContentEnd
        const actual = meter.end()
        if (actual.sha256 !== end.sha256 || actual.bytes !== end.bytes)
          throw damagedError(path, `the checksum of the content ${entry.key} does not match`)
        measured = actual
        return
      } else throw damagedError(path, 'its parts are mixed up')
    }
  }
  const bytes = pieces()
  await receive?.(entry, bytes)
  for await (const _unread of bytes);
  if (!measured) throw new Error(`The content ${entry.key} was not read to its end`)
  return measured
}

async function readTable(
  path: string,
  frames: FrameReader,
  table: TableEntry,
  receive: ReceiveTable,
): Promise<TableEnd> {
  const meter = createRowMeter()
  let end: TableEnd | undefined
  async function* pieces() {
    for (;;) {
      const frame = await frames.next()
      if (frame.type === 'D') yield frame.content
      else if (frame.type === 'E') {
        end = parseJson(path, frame.content) as TableEnd
        return
      } else throw damagedError(path, 'its parts are mixed up')
    }
  }
  let receiving: Promise<void> | undefined
  const sink = async (rows: Transform) => {
    receiving = receive(table, rows)
    await receiving
  }
  try {
    await pipeline(Readable.from(pieces()), createZstdDecompress(), meter.stream, sink as never)
  } catch (error) {
    // Waits until the receiver has ended too. Its own error is ignored here, because the pipeline reports it.
    await receiving?.catch(() => {})
    if (isDecompressionError(error))
      throw damagedError(path, `the rows of ${table.schema}.${table.name} cannot be unpacked`)
    throw error
  }
  const measured = meter.end()
  if (!end || measured.sha256 !== end.sha256 || measured.rows !== end.rows || measured.bytes !== end.bytes)
    throw damagedError(path, `the checksum of ${table.schema}.${table.name} does not match`)
  return measured
}

const isDecompressionError = (error: unknown) => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && (code.startsWith('ZSTD_') || code.startsWith('Z_'))
}

async function readJsonFrame(path: string, frames: FrameReader, type: string) {
  const frame = await frames.next()
  if (frame.type !== type) throw damagedError(path, 'its manifest is missing')
  return parseJson(path, frame.content)
}

function parseJson(path: string, content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'))
  } catch {
    throw damagedError(path, 'a part of it cannot be read')
  }
}

/** Reads the whole file and compares it with its checksums. If something is wrong, throws a BackupError that describes it. */
export async function verifyBackup(path: string, passphrase?: Passphrase): Promise<Verified> {
  try {
    // Opening a named pipe would block until a writer opens it.
    if (!(await stat(path)).isFile()) throw new BackupError(`${path} is not a file`)
    const table: ReceiveTable = async (_, rows) => {
      for await (const _chunk of rows);
    }
    return await readBackup(path, { table }, passphrase)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new BackupError(`There is no file ${path}`)
    throw error
  }
}
