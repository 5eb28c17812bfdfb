/**
 * Stores contents of any size by key, in the data directory or in an S3-compatible store. The meaning of a key is defined by the services.
 */
import type { Readable } from 'node:stream'
import { newId } from '../ids.ts'

export interface S3Settings {
  /** Address of the store: `https://host:port`, without a path. */
  origin: string
  bucket: string
  /** Folder within the bucket; empty for the whole bucket. */
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
   * Resolves when the content is durable; before that it cannot be read. The next piece is requested only when there is room for it. After
   * a failure, the caller must call `remove`.
   */
  write(key: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /**
   * Returns undefined if there is no such content. A stream that is already open delivers the whole content, even if it is removed
   * meanwhile.
   */
  read(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Removes the content, or the remains of an interrupted write. Does nothing if there is no content. */
  remove(key: string): Promise<void>
  /** Lists all keys in no particular order, including the keys of unfinished and interrupted writes. */
  keys(): AsyncIterable<{ key: string; changedAt: Date }>
}

export const newBlobKey = () => newId().replaceAll('-', '')

export const blobKeyPattern = /^[0-9a-f]{32}$/

/** Returns `ab/cd/abcd…`. With two levels of folders, a folder has only a few hundred entries even if there are millions of contents. */
export function pathOfKey(key: string): string {
  if (!blobKeyPattern.test(key)) throw new Error(`${key} is not a blob key`)
  return `${key.slice(0, 2)}/${key.slice(2, 4)}/${key}`
}
