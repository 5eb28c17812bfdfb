import { defineError } from '../../kernel/errors.ts'

// One text for whatever is wrong with an address: what is missing, of another tenant or not visible looks the same.
export const NoFile = defineError<{ filename: string; endpointId: string; appName: string }>(
  'no_such_file',
  404,
  'There is no file {filename} of endpoint {endpointId} in application {appName}',
)
export const NoBlob = defineError<{ blobId: string; endpointId: string; appName: string }>(
  'no_such_blob',
  404,
  'There is no blob {blobId} of endpoint {endpointId} in application {appName}',
)
export const NoLastBlob = defineError<{ endpointId: string; appName: string }>(
  'no_last_blob',
  404,
  'There is no blob of endpoint {endpointId} in application {appName}',
)
export const NoApplication = defineError<{ appName: string }>(
  'no_such_application_of_binary_data',
  404,
  'There is no application {appName}',
)
export const ContentLost = defineError(
  'content_lost',
  404,
  'The content is not in the blob store although it should be there; the log has more',
)
export const UploadRefused = defineError(
  'upload_refused',
  403,
  'The upload token in X-Auth-Token is missing, expired or not valid',
)
export const QuotaExceeded = defineError<{ quota: number }>(
  'quota_exceeded',
  413,
  'The files and blobs of this tenant may have {quota} bytes in all, and this would be too much; delete some first',
)
export const ChecksumMismatch = defineError<{ header: string }>(
  'checksum_mismatch',
  400,
  '{header}: the SHA-256 of what arrived is another one; nothing of it was kept',
)
export const NoSuchRange = defineError<{ size: number }>(
  'no_such_range',
  416,
  'There is no such range: the content has {size} bytes',
)
export const BlobStoreTrouble = defineError(
  'blob_store_trouble',
  503,
  'The blob store does not work right now; nothing was changed, try again',
)
