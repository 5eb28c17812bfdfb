/**
 * Marks which database a blob store belongs to. If a store were used with another database, every content would look like an orphan and
 * would be removed.
 */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Blobs } from './blobs.ts'

export const markKey = '0'.repeat(32)

export async function readMark(blobs: Blobs): Promise<string | undefined> {
  const content = await blobs.read(markKey)
  return content && (await text(content))
}

export async function writeMark(blobs: Blobs, mark: string) {
  // A crash may have left an incomplete mark.
  await blobs.remove(markKey)
  await blobs.write(markKey, Readable.from([Buffer.from(mark)]))
}
