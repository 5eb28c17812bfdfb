import { PlatformError } from '../../../kernel/errors.ts'
import type { Log } from '../../../kernel/log.ts'
import { BlobStoreTrouble } from '../errors.ts'

/** What the blob store throws becomes a 503 that says nothing of it; the log has it. */
export const createTrouble =
  (log: Log) =>
  (error: unknown): never => {
    if (error instanceof PlatformError) throw error
    log.error({ err: error }, 'the blob store has a problem')
    throw BlobStoreTrouble({}, { headers: { 'retry-after': '10' } })
  }
