/** Contents of any size by key: in files of the data directory, or in an S3-compatible store. What they mean stands elsewhere. */
import type { Readable } from 'node:stream'
import { newId } from '../ids.ts'

export interface S3Settings {
  /** `https://host:port`, without a path. */
  origin: string
  bucket: string
  /** Within the bucket; empty: all of it. */
  folder: string
  region: string
  accessKey: string
  secretKey: string
}

/** First and last byte, both inclusive. */
export interface ByteRange {
  first: number
  last: number
}

export interface Blobs {
  /**
   * Resolves when all of it would survive a power cut; until then nobody can read any of it. The next piece is asked for
   * when there is room for it. Whoever fails calls `remove`.
   */
  write(key: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /** Undefined when there is no such content. What was opened can be read to its end, also when it is removed meanwhile. */
  read(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Also what an interrupted write has left; nothing there is fine. */
  remove(key: string): Promise<void>
  /** All keys that hold anything, in no order, also of writes that are under way or were interrupted. */
  keys(): AsyncIterable<{ key: string; changedAt: Date }>
}

export const newBlobKey = () => newId().replaceAll('-', '')

export const blobKeyPattern = /^[0-9a-f]{32}$/

/** `ab/cd/abcd…`: no folder has more than some hundred entries even with millions of contents. */
export function pathOfKey(key: string): string {
  if (!blobKeyPattern.test(key)) throw new Error(`${key} is no key of a blob`)
  return `${key.slice(0, 2)}/${key.slice(2, 4)}/${key}`
}
