import type { Readable } from 'node:stream'
import type { ByteRange } from '../../kernel/blobs/blobs.ts'
import { contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'

export interface StoredContent {
  contentKey: string
  size: number
  /** Hexadecimal SHA-256. */
  checksum: string
}

export interface NewContent {
  tenantId: string
  /** Name of the service that owns the content. */
  service: string
  content: AsyncIterable<Uint8Array>
  /** The length that the request announces, if any. */
  length?: number | undefined
  /** The checksum that the request announces, with the name of its header for the error text. */
  digest?: { header: string; sha256: string } | undefined
  /** Size of the content that `keep` replaces. The quota check subtracts it, because these bytes become free. */
  replacedBytes?: number | undefined
}

/**
 * Contents of other services in the same blob store. They have checksums, count towards the quota of the tenant, and are included in
 * backups.
 */
export interface ServiceContents {
  /**
   * Stores a content. `keep` runs in the transaction that makes the content permanent, and stores its key. If `keep` throws, the content is
   * discarded. Throws 413 if the quota is exceeded, 400 if the checksum differs, and 503 if the blob store fails.
   */
  write<T>(content: NewContent, keep: (sql: Sql, stored: StoredContent) => Promise<T>): Promise<T>
  /** Reads a content. Returns undefined if there is no such content. Throws 503 if the blob store fails. */
  read(contentKey: string, range?: ByteRange): Promise<Readable | undefined>
  /** Releases contents in this transaction. They are removed soon after the commit. */
  release(sql: Sql, tenantId: string, contentKeys: string[]): Promise<void>
}

export interface BinaryData {
  /** Issues an upload token for an authenticated endpoint. The token cannot be read again later. */
  issueUploadToken(endpoint: DeviceEndpoint): Promise<string>
  contents: ServiceContents
}
export const BinaryData = contract<BinaryData>('binary-data')
