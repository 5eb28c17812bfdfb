/** Log messages at warn and above of binary data. */
import { defineLogMessage } from '../../kernel/define-log-message.ts'

export const blobStoreFailed = defineLogMessage({
  level: 'error',
  text: 'access to the blob store failed; the request gets 503',
  cause: 'The folder or the S3 service that contains the blobs returned an error.',
  action: 'Check the free space and the permissions of the folder, or the availability of the S3 service.',
})

export const removingContentFailed = defineLogMessage({
  level: 'warn',
  text: 'could not remove an orphaned content from the blob store; retrying in 5 min',
  cause: 'The blob store returned an error for this content.',
  action: 'Check the blob store if this message repeats. Until a removal succeeds, the content takes space.',
})

export const removingOrphansFailed = defineLogMessage({
  level: 'warn',
  text: 'could not remove orphaned contents; the next sweep retries',
  cause: 'The database did not return or update the list of orphaned contents.',
  action: 'Check the database if this message repeats. Until a sweep succeeds, the contents take space.',
})

export const foreignBlobStore = defineLogMessage({
  level: 'error',
  text: 'the blob store belongs to another database; orphaned contents are not removed',
  cause: 'The mark in the blob store differs from the mark in the database.',
  action: 'Configure the blob store that belongs to this database, or a store that no other installation uses.',
})

export const orphansFound = defineLogMessage({
  level: 'warn',
  text: 'the daily comparison found contents without an item; removing these contents',
  cause: 'A node stopped during an upload, or the database was restored from an older backup.',
  action: 'Nothing after a crash or a restore. Otherwise check whether another installation uses the same blob store.',
})

export const contentMissing = defineLogMessage({
  level: 'error',
  text: 'the content of an item is missing in the blob store; the download fails',
  cause: 'The content was deleted outside of the platform, or the blob store was not restored with the database.',
  action: 'Restore the content from a backup, or delete the item.',
})

export const discardingUploadFailed = defineLogMessage({
  level: 'warn',
  text: 'could not discard an interrupted upload; the sweep removes the upload',
  cause: 'The database did not answer after an upload failed.',
  action: 'Nothing: the content is removed about an hour later. Check the database if this message repeats.',
})
