import { defineError } from '../../kernel/errors.ts'

/** `series` is the first series that exceeds the limit, including the name of its value. */
export const TooManySeries = defineError<{ applicationName: string; limit: number; series: string }>(
  'too_many_series',
  400,
  'Application {applicationName} already has {limit} values of series, the maximum, and {series} would be a further value; nothing was stored',
)

export const TooManySubscriptions = defineError<{ limit: number }>(
  'too_many_subscriptions',
  429,
  'The tenant already has {limit} live streams open, the maximum; close a stream first',
)

export const LiveIsFull = defineError<{ limit: number }>(
  'live_is_full',
  429,
  'This node already serves {limit} live streams, the maximum; try again later',
)

/** `problem` begins with the name of the field. */
export const SampleRejected = defineError<{ sample: number; problem: string }>(
  'sample_refused',
  400,
  'Sample {sample}: {problem}; nothing of the message was stored',
)

export const PointRejected = defineError<{ point: string; problem: string }>(
  'point_refused',
  400,
  '{point}: {problem}; nothing was stored',
)

// The response is the same for an object that is missing, belongs to another tenant or is not visible.
export const NoApplication = defineError<{ applicationName: string }>(
  'no_such_application_of_time_series',
  404,
  'There is no application {applicationName}, or the caller may not read it',
)

export const NoVersion = defineError<{ appVersionName: string }>(
  'no_such_version_of_time_series',
  404,
  'There is no application version {appVersionName}, or the caller may not read it',
)

export const NoEndpoint = defineError<{ endpointId: string }>(
  'no_such_endpoint_of_time_series',
  404,
  'There is no endpoint {endpointId}, or the caller may not read it; nothing was stored',
)

export const OfOtherVersion = defineError<{ endpointId: string; versionName: string; appVersionName: string }>(
  'endpoint_of_other_version',
  400,
  'Endpoint {endpointId} belongs to version {versionName}, not to {appVersionName}; nothing was stored',
)
