/** Copies contents between the blob store and a backup. Only contents that rows in the snapshot reference are backed up. */
import type { Blobs } from '../blobs/blobs.ts'
import { pauseRemovals } from '../blobs/removal-lock.ts'
import type { ConnectionOptions, Sql } from '../db.ts'
import type { ContentNames } from '../define-service.ts'
import { createContentMeter, runInTransaction } from './copy.ts'
import type { Passphrase } from './encryption.ts'
import { BackupError } from './errors.ts'
import type { FrameWriter } from './format.ts'
import {
  addToTotals,
  type ContentEntry,
  type ContentTotals,
  emptyContentTotals,
  qualifiedName,
  quoteIdentifier,
  type TableEntry,
} from './manifest.ts'
import { readBackup, type Verified } from './read.ts'

export type ContentTable = ContentNames & { schema: string }

export type ContentProgress = (count: number, bytes: number) => void

/** Runs the work while no process removes contents from the blob store. */
export const withRemovalsPaused = <T>(connection: ConnectionOptions, work: () => Promise<T>): Promise<T> =>
  runInTransaction(connection, 'read only', async (sql) => {
    try {
      await pauseRemovals(sql)
    } catch (error) {
      if ((error as { code?: string }).code !== '55P03') throw error
      throw new BackupError('The removal of contents of files and blobs has taken more than a minute; try again later')
    }
    return await work()
  })

/** Lists the contents that rows in the snapshot reference, in pages of 500. */
async function* referencedContents(
  sql: Sql,
  tables: ContentTable[],
  existingTables: TableEntry[],
): AsyncGenerator<ContentEntry> {
  for (const { schema, table, key, size, sha256 } of tables) {
    // The table is missing if the database has not been migrated yet.
    if (!existingTables.some((entry) => entry.schema === schema && entry.name === table)) continue
    const columns = `${quoteIdentifier(key)} as key, ${quoteIdentifier(size)}::text as size, ${quoteIdentifier(sha256)} as sha256`
    await sql.unsafe(
      `declare contents no scroll cursor for select ${columns} from ${qualifiedName({ schema, name: table })}`,
    )
    for (;;) {
      const rows = await sql.unsafe('fetch 500 from contents')
      if (rows.length === 0) break
      for (const row of rows) yield { key: row.key, size: Number(row.size), sha256: row.sha256 }
    }
    await sql.unsafe('close contents')
  }
}

/** Writes the contents to the backup and returns their totals. */
export async function writeContents(
  writer: FrameWriter,
  sql: Sql,
  existingTables: TableEntry[],
  { blobs, tables, progress }: { blobs: Blobs; tables: ContentTable[]; progress?: ContentProgress },
): Promise<ContentTotals> {
  const totals = emptyContentTotals()
  for await (const entry of referencedContents(sql, tables, existingTables)) {
    const content = await blobs.read(entry.key)
    if (!content) {
      // No content is removed during the backup, so this content was lost before. It is recorded as missing.
      await writer.writeJson('M', { key: entry.key })
      totals.missing++
      continue
    }
    await writer.writeJson('C', entry)
    const meter = createContentMeter()
    for await (const piece of readWithResume(blobs, entry, content)) {
      meter.add(piece)
      await writer.write('D', piece)
    }
    const end = meter.end()
    await writer.writeJson('E', end)
    addToTotals(totals, entry, end)
    progress?.(totals.count, totals.bytes)
  }
  if (totals.count === 0 && totals.missing > 0)
    throw new BackupError(
      `None of the ${totals.missing} contents of files and blobs that the database references is in the store. Check that WAYPOST_DATA ` +
        'or WAYPOST_S3_URL has the value that the platform uses, or leave the contents out with --without-files',
    )
  return totals
}

const resumesMax = 3

/** Reads a content. If the connection breaks, reading resumes at the next byte. */
async function* readWithResume(blobs: Blobs, { key, size }: ContentEntry, content: AsyncIterable<Buffer>) {
  let source = content
  let position = 0
  for (let resumes = 0; ; )
    try {
      for await (const piece of source) {
        position += piece.length
        yield piece
      }
      return
    } catch (error) {
      if (position === size) return
      if (++resumes > resumesMax || position > size) throw error
      const rest = await blobs.read(key, { first: position, last: size - 1 })
      if (!rest) throw error
      source = rest
    }
}

/** Contents up to this size are written concurrently, because writing a small content mostly means waiting for the disk or the network. */
const smallBytes = 256 * 1024
const concurrentWritesMax = 8

/**
 * Writes contents before the rows that reference them. After a failure there may be a content without a row, but never a row without its
 * content. The content of a key never changes, so a content in the store that matches its checksum is kept.
 */
export async function restoreContents(
  file: string,
  verified: Verified,
  options: { blobs: Blobs; progress?: ContentProgress; passphrase?: Passphrase | undefined },
): Promise<{ written: number; kept: number }> {
  const { blobs, progress, passphrase } = options
  const counts = { written: 0, kept: 0 }
  let bytes = 0
  const pendingWrites = new Set<Promise<void>>()
  // Contents that are written concurrently are kept in memory, so they must be small. The row of a damaged content may state a wrong size.
  // Therefore a backup with damaged contents is restored without concurrency.
  const concurrentSizeMax = verified.contents?.damaged === 0 ? smallBytes : -1

  async function write(entry: ContentEntry, content: AsyncIterable<Uint8Array>) {
    // The old content of the key is removed first. It may be the partial content of an earlier attempt.
    await blobs.remove(entry.key)
    await blobs.write(entry.key, content)
    counts.written++
  }
  async function writeUnlessPresent(entry: ContentEntry, content: AsyncIterable<Uint8Array>) {
    if (await isIntact(blobs, entry)) counts.kept++
    else await write(entry, content)
    bytes += entry.size
    progress?.(counts.written + counts.kept, bytes)
  }

  try {
    const receive = {
      async content(entry: ContentEntry, content: AsyncIterable<Buffer>) {
        if (entry.size > concurrentSizeMax) return await writeUnlessPresent(entry, content)
        if (pendingWrites.size >= concurrentWritesMax) await Promise.race(pendingWrites)
        const pieces = await Array.fromAsync(content)
        const writing = writeUnlessPresent(entry, fromArray(pieces))
        pendingWrites.add(writing)
        // A failed write stays in `pendingWrites`, so that the next `Promise.race` or `Promise.all` over it rejects.
        writing.then(
          () => pendingWrites.delete(writing),
          () => {},
        )
      },
    }
    const read = await readBackup(file, receive, passphrase)
    await Promise.all(pendingWrites)
    if (read.sha256 !== verified.sha256)
      throw new BackupError(`${file} was changed while it was being restored; no row was changed`)
    return counts
  } finally {
    await Promise.allSettled(pendingWrites)
  }
}

async function* fromArray(pieces: Uint8Array[]) {
  yield* pieces
}

async function isIntact(blobs: Blobs, { key, size, sha256 }: ContentEntry): Promise<boolean> {
  const stored = await blobs.read(key)
  if (!stored) return false
  const meter = createContentMeter()
  for await (const piece of stored as AsyncIterable<Buffer>) meter.add(piece)
  const measured = meter.end()
  return measured.bytes === size && measured.sha256 === sha256
}
