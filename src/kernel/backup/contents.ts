/** Contents of the blob store in a backup: those that the rows of its moment name. */
import type { Blobs } from '../blobs/blobs.ts'
import { holdRemovals } from '../blobs/hold.ts'
import type { ConnectionOptions, Sql } from '../db.ts'
import type { ContentNames } from '../define-service.ts'
import { createContentMeter, transaction } from './copy.ts'
import { BackupError, type FrameWriter } from './format.ts'
import {
  type ContentEntry,
  type ContentTotals,
  countContent,
  nameOf,
  noContents,
  quoted,
  type TableEntry,
} from './manifest.ts'
import { readBackup, type Verified } from './read.ts'

export type ContentTable = ContentNames & { schema: string }

export type ContentProgress = (count: number, bytes: number) => void

/** No content is removed until the work is done. */
export const whileHeld = <T>(connection: ConnectionOptions, work: () => Promise<T>): Promise<T> =>
  transaction(connection, 'read only', async (sql) => {
    try {
      await holdRemovals(sql)
    } catch (error) {
      if ((error as { code?: string }).code !== '55P03') throw error
      throw new BackupError('Contents of files and blobs are being removed for more than a minute; try again later')
    }
    return await work()
  })

/** Within the snapshot of the rows; page by page, however many there are. */
async function* namedIn(sql: Sql, tables: ContentTable[], present: TableEntry[]): AsyncGenerator<ContentEntry> {
  for (const { schema, table, key, size, sha256 } of tables) {
    // A database that has not been migrated yet.
    if (!present.some((entry) => entry.schema === schema && entry.name === table)) continue
    const columns = `${quoted(key)} as key, ${quoted(size)}::text as size, ${quoted(sha256)} as sha256`
    await sql.unsafe(`declare contents no scroll cursor for select ${columns} from ${nameOf({ schema, name: table })}`)
    for (;;) {
      const rows = await sql.unsafe('fetch 500 from contents')
      if (rows.length === 0) break
      for (const row of rows) yield { key: row.key, size: Number(row.size), sha256: row.sha256 }
    }
    await sql.unsafe('close contents')
  }
}

export async function writeContents(
  writer: FrameWriter,
  sql: Sql,
  present: TableEntry[],
  { blobs, tables, progress }: { blobs: Blobs; tables: ContentTable[]; progress?: ContentProgress },
): Promise<ContentTotals> {
  const totals = noContents()
  for await (const entry of namedIn(sql, tables, present)) {
    const content = await blobs.read(entry.key)
    if (!content) {
      // Nothing is removed meanwhile, so it was lost before: one lost content must not keep all others from being saved.
      await writer.writeJson('M', { key: entry.key })
      totals.missing++
      continue
    }
    await writer.writeJson('C', entry)
    const meter = createContentMeter()
    for await (const piece of readOn(blobs, entry, content)) {
      meter.add(piece)
      await writer.write('D', piece)
    }
    const end = meter.end()
    await writer.writeJson('E', end)
    countContent(totals, entry, end)
    progress?.(totals.count, totals.bytes)
  }
  if (totals.count === 0 && totals.missing > 0)
    throw new BackupError(
      `None of the ${totals.missing} contents of files and blobs that rows name is in the store: perhaps WAYPOST_DATA or ` +
        'WAYPOST_S3_URL is not what the platform has; --without-files leaves them out',
    )
  return totals
}

const breaksMax = 3

/** A connection that breaks in the middle, among the many of a long backup, is taken up where it broke. */
async function* readOn(blobs: Blobs, { key, size }: ContentEntry, content: AsyncIterable<Buffer>) {
  let from = content
  let at = 0
  for (let breaks = 0; ; )
    try {
      for await (const piece of from) {
        at += piece.length
        yield piece
      }
      return
    } catch (error) {
      if (at === size) return
      if (++breaks > breaksMax || at > size) throw error
      const rest = await blobs.read(key, { first: at, last: size - 1 })
      if (!rest) throw error
      from = rest
    }
}

/** Up to this size contents are written side by side: each waits for the disk or the network more than it writes. */
const smallBytes = 256 * 1024
const sideBySide = 8

/**
 * Before the rows that name them: whatever happens in between, a content without a row is left, never a row without its content,
 * and the next attempt takes up what is there. A key never stands for other bytes; what lies there is kept where it is sound.
 */
export async function restoreContents(
  file: string,
  verified: Verified,
  { blobs, progress }: { blobs: Blobs; progress?: ContentProgress },
): Promise<{ written: number; kept: number }> {
  const done = { written: 0, kept: 0 }
  let bytes = 0
  const underWay = new Set<Promise<void>>()
  // A damaged content may be larger than its row says.
  const small = verified.contents?.damaged === 0 ? smallBytes : -1

  async function put(entry: ContentEntry, content: AsyncIterable<Uint8Array>) {
    // Also what an attempt before this one has left unfinished.
    await blobs.remove(entry.key)
    await blobs.write(entry.key, content)
    done.written++
  }
  async function putUnlessThere(entry: ContentEntry, content: AsyncIterable<Uint8Array>) {
    if (await isSound(blobs, entry)) done.kept++
    else await put(entry, content)
    bytes += entry.size
    progress?.(done.written + done.kept, bytes)
  }

  try {
    const read = await readBackup(file, {
      async content(entry, content) {
        if (entry.size > small) return await putUnlessThere(entry, content)
        if (underWay.size >= sideBySide) await Promise.race(underWay)
        const pieces = await Array.fromAsync(content)
        const putting = putUnlessThere(entry, inPieces(pieces))
        underWay.add(putting)
        // One that failed stays, and the race tells of it.
        putting.then(
          () => underWay.delete(putting),
          () => {},
        )
      },
    })
    await Promise.all(underWay)
    if (read.sha256 !== verified.sha256)
      throw new BackupError(`${file} was changed while it was being restored; no row was changed`)
    return done
  } finally {
    await Promise.allSettled(underWay)
  }
}

async function* inPieces(pieces: Uint8Array[]) {
  yield* pieces
}

async function isSound(blobs: Blobs, { key, size, sha256 }: ContentEntry): Promise<boolean> {
  const there = await blobs.read(key)
  if (!there) return false
  const meter = createContentMeter()
  for await (const piece of there as AsyncIterable<Buffer>) meter.add(piece)
  const found = meter.end()
  return found.bytes === size && found.sha256 === sha256
}
