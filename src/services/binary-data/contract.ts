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
  /** The announced length, if any. */
  length?: number | undefined
  /** The announced checksum, with the name of its header for the error. */
  digest?: { header: string; sha256: string } | undefined
  /** Size of the content that `keep` releases; it does not count against the quota. */
  replacedBytes?: number | undefined
}

/** Contents of other services in the same blob store: checksummed, counted in the quota of the tenant, included in backups. */
export interface ServiceContents {
  /**
   * Stores a content. `keep` runs in the transaction that makes it permanent and stores its key; if it throws, the content is
   * discarded. Throws 413 if the quota is exceeded, 400 if the checksum differs, 503 if the blob store fails.
   */
  write<T>(content: NewContent, keep: (sql: Sql, stored: StoredContent) => Promise<T>): Promise<T>
  /** Returns undefined if there is no such content. Throws 503 if the blob store fails. */
  read(contentKey: string, range?: ByteRange): Promise<Readable | undefined>
  /** Releases contents in this transaction. They are removed soon after its commit. */
  release(sql: Sql, tenantId: string, contentKeys: string[]): Promise<void>
}

export interface BinaryData {
  /** Issues an upload token for an authenticated endpoint. It cannot be read again. */
  issueUploadToken(endpoint: DeviceEndpoint): Promise<string>
  contents: ServiceContents
}
export const BinaryData = contract<BinaryData>('binary-data')
