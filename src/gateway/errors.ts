import { defineError } from '../kernel/errors.ts'

// An error text reveals to a device only data that the device itself has sent.
export const TopicMalformed = defineError<{ problem: string }>('device_topic_malformed', 400, '{problem}')
export const DeviceUnknown = defineError(
  'device_not_authorized',
  401,
  'The token is not valid; check the token and the application version in the topic',
)
export const VersionUnknown = defineError<{ versionName: string }>(
  'device_version_unknown',
  404,
  'There is no application version {versionName}',
)
export const ExtensionUnknown = defineError<{ extension: string }>(
  'device_extension_unknown',
  404,
  'There is no extension {extension}, or it is switched off for this application version',
)
export const MethodNotAllowed = defineError<{ method: string }>(
  'device_method_not_allowed',
  405,
  'Method {method} is not allowed; devices send POST',
)
