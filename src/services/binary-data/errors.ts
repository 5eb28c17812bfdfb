import { defineError } from '../../kernel/errors.ts'

// The error text is the same if the item is missing, belongs to another tenant or is not visible.
export const NoFile = defineError<{ filename: string; endpointId: string; appName: string }>(
  'no_such_file',
  404,
  'There is no file {filename} of endpoint {endpointId} in application {appName}, or the caller may not read it',
)
export const NoBlob = defineError<{ blobId: string; endpointId: string; appName: string }>(
  'no_such_blob',
  404,
  'There is no blob {blobId} of endpoint {endpointId} in application {appName}, or the caller may not read it',
)
export const NoLastBlob = defineError<{ endpointId: string; appName: string }>(
  'no_last_blob',
  404,
  'There is no blob of endpoint {endpointId} in application {appName}, or the caller may not read it',
)
export const NoApplication = defineError<{ appName: string }>(
  'no_such_application_of_binary_data',
  404,
  'There is no application {appName}, or the caller may not read it',
)
export const NoEndpoint = defineError<{ endpointId: string; appName: string }>(
  'no_such_endpoint_of_binary_data',
  404,
  'There is no endpoint {endpointId} in application {appName}, or the caller may not read it',
)
export const ContentLost = defineError(
  'content_lost',
  404,
  'The content is missing in the blob store; ask the operator of the platform, whose log names the cause',
)
export const UploadRejected = defineError(
  'upload_refused',
  403,
  'The upload token in X-Auth-Token is missing, expired or not valid; get a new token from the extension bcx',
)
export const QuotaExceeded = defineError<{ quota: number }>(
  'quota_exceeded',
  413,
  'The upload exceeds the storage quota of the tenant, {quota} bytes for all files and blobs; delete files or blobs first',
)
export const ChecksumMismatch = defineError<{ header: string }>(
  'checksum_mismatch',
  400,
  '{header}: the content that arrived has another SHA-256; nothing was stored, send the content again',
)
export const UploadGivenUp = defineError(
  'upload_given_up',
  409,
  'The upload was given up, because the tenant was deleted or nothing arrived for an hour; nothing was stored',
)
export const BlobStoreTrouble = defineError(
  'blob_store_trouble',
  503,
  'The blob store does not work at the moment; nothing was changed, try again later',
)
