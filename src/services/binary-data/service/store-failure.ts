import { PlatformError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { BlobStoreTrouble } from '../errors.ts'
import { blobStoreFailed } from '../log-messages.ts'

/** Rethrows errors of the platform. Any other error comes from the blob store. It is logged, and the caller gets a 503 without details. */
export const createStoreFailure =
  (log: Log) =>
  (error: unknown): never => {
    if (error instanceof PlatformError) throw error
    blobStoreFailed(log, { err: error })
    throw BlobStoreTrouble({}, { headers: { 'retry-after': '10' } })
  }
