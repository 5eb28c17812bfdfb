import type { Clock } from '../clock.ts'
import type { Blobs, S3Settings } from './blobs.ts'
import { createFileBlobs } from './files.ts'
import { createS3Blobs } from './s3.ts'

/** Creates the configured store. It makes no request and creates no folder until it is first used. */
export const createBlobs = (settings: { directory: string; s3: S3Settings | undefined }, now: Clock): Blobs =>
  settings.s3 ? createS3Blobs(settings.s3, now) : createFileBlobs(settings.directory)
