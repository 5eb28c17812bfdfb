import { stat } from 'node:fs/promises'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { createMeter } from './copy.ts'
import { BackupError, damaged, type FrameReader, openFrames } from './format.ts'
import type { Manifest, TableEnd, TableEntry, Totals } from './manifest.ts'

export interface Verified extends Totals {
  manifest: Manifest
  /** Of the file on the disk. */
  fileBytes: number
  /** As `sha256sum` prints it for the file. */
  sha256: string
}

type TakeTable = (table: TableEntry, rows: AsyncIterable<Buffer>) => Promise<void>

/**
 * Goes through the whole file and hands over the rows of each table. Rows are handed over before they are known to be
 * sound: who keeps them, keeps them only when this has returned.
 */
export async function readBackup(path: string, take: TakeTable): Promise<Verified> {
  const frames = await openFrames(path)
  try {
    const manifest = (await expectJson(path, frames, 'H')) as Manifest
    if (!Array.isArray(manifest?.tables)) throw damaged(path, 'its manifest cannot be read')
    const totals: Totals = { tables: 0, rows: 0, bytes: 0 }
    for (;;) {
      const frame = await frames.next()
      const content = Object(parsed(path, frame.content)) as { index: number } & Totals
      if (frame.type === 'Z') {
        const complete = content.tables === totals.tables && totals.tables === manifest.tables.length
        if (!complete || content.rows !== totals.rows) throw damaged(path, 'tables are missing')
        const sha256 = await frames.finish()
        return { ...totals, manifest, fileBytes: frames.bytes, sha256 }
      }
      const table = manifest.tables[totals.tables]
      if (frame.type !== 'T' || content.index !== totals.tables || !table) throw damaged(path, 'its parts are mixed up')
      const { rows, bytes } = await readTable(path, frames, table, take)
      totals.tables++
      totals.rows += rows
      totals.bytes += bytes
    }
  } finally {
    await frames.close()
  }
}

async function readTable(path: string, frames: FrameReader, table: TableEntry, take: TakeTable): Promise<TableEnd> {
  const meter = createMeter()
  let end: TableEnd | undefined
  async function* pieces() {
    for (;;) {
      const frame = await frames.next()
      if (frame.type === 'D') yield frame.content
      else if (frame.type === 'E') {
        end = parsed(path, frame.content) as TableEnd
        return
      } else throw damaged(path, 'its parts are mixed up')
    }
  }
  let taking: Promise<void> | undefined
  const sink = async (rows: Transform) => {
    taking = take(table, rows)
    await taking
  }
  try {
    await pipeline(Readable.from(pieces()), createZstdDecompress(), meter.stream, sink as never)
  } catch (error) {
    // Whoever takes the rows may have failed by itself, or because the rows stopped coming.
    await taking?.catch(() => {})
    if (isDecompression(error)) throw damaged(path, `the rows of ${table.schema}.${table.name} cannot be unpacked`)
    throw error
  }
  const found = meter.end()
  if (!end || found.sha256 !== end.sha256 || found.rows !== end.rows || found.bytes !== end.bytes)
    throw damaged(path, `the checksum of ${table.schema}.${table.name} does not match`)
  return found
}

const isDecompression = (error: unknown) => {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && (code.startsWith('ZSTD_') || code.startsWith('Z_'))
}

async function expectJson(path: string, frames: FrameReader, type: string) {
  const frame = await frames.next()
  if (frame.type !== type) throw damaged(path, 'its manifest is missing')
  return parsed(path, frame.content)
}

function parsed(path: string, content: Buffer): unknown {
  try {
    return JSON.parse(content.toString('utf8'))
  } catch {
    throw damaged(path, 'a part of it cannot be read')
  }
}

/** Every byte is read, unpacked and compared with its checksums; throws a BackupError that says what is wrong. */
export async function verifyBackup(path: string): Promise<Verified> {
  try {
    // Opening a pipe would wait for whoever writes into it.
    if (!(await stat(path)).isFile()) throw new BackupError(`${path} is not a file`)
    return await readBackup(path, async (_, rows) => {
      for await (const _chunk of rows);
    })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new BackupError(`There is no file ${path}`)
    throw error
  }
}
