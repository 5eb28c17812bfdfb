import { PlatformError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { BlobStoreTrouble } from '../errors.ts'
import { blobStoreFailed } from '../log-messages.ts'

/** Turns errors of the blob store into a 503 without details. The log has the details. */
export const createStoreFailure =
  (log: Log) =>
  (error: unknown): never => {
    if (error instanceof PlatformError) throw error
    blobStoreFailed(log, { err: error })
    throw BlobStoreTrouble({}, { headers: { 'retry-after': '10' } })
  }
