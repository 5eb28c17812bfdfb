/** Stores contents of any size by key, in the data directory or in an S3-compatible store. Services know what a key means. */
import type { Readable } from 'node:stream'
import { newId } from '../ids.ts'

export interface S3Settings {
  /** `https://host:port`, without a path. */
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
   * Resolves when the content is durable; before that it cannot be read. Takes the next piece only when there is room for it.
   * After a failure the caller calls `remove`.
   */
  write(key: string, content: AsyncIterable<Uint8Array>): Promise<void>
  /** Returns undefined if there is no such content. A reader that is open reads to the end, even if the content is removed. */
  read(key: string, range?: ByteRange): Promise<Readable | undefined>
  /** Removes the content, or what an interrupted write has left; does nothing if there is none. */
  remove(key: string): Promise<void>
  /** Lists all keys in no particular order, including those of unfinished and interrupted writes. */
  keys(): AsyncIterable<{ key: string; changedAt: Date }>
}

export const newBlobKey = () => newId().replaceAll('-', '')

export const blobKeyPattern = /^[0-9a-f]{32}$/

/** Returns `ab/cd/abcd…`, so that a folder has a few hundred entries even with millions of contents. */
export function pathOfKey(key: string): string {
  if (!blobKeyPattern.test(key)) throw new Error(`${key} is not a blob key`)
  return `${key.slice(0, 2)}/${key.slice(2, 4)}/${key}`
}
