import { defineError } from '../../kernel/errors.ts'

export const NoUploads = defineError('no_uploads', 404, 'There is no binary data service to upload to')
export const UnknownConfiguration = defineError<{ configId: string }>(
  'unknown_configuration',
  404,
  'configId {configId} is not one that this endpoint was to apply',
)
