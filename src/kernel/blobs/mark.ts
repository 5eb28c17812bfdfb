/** Where a store says whose it is: beside another database, every content of its owner would look left over. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Blobs } from './blobs.ts'

export const markKey = '0'.repeat(32)

export async function readMark(blobs: Blobs): Promise<string | undefined> {
  const found = await blobs.read(markKey)
  return found && (await text(found))
}

export async function writeMark(blobs: Blobs, mark: string) {
  // A crash may have left half of it.
  await blobs.remove(markKey)
  await blobs.write(markKey, Readable.from([Buffer.from(mark)]))
}
