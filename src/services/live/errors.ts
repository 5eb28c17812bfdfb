import { defineError } from '../../kernel/errors.ts'

// The response is the same for an object that is missing, belongs to another tenant or is not visible.
export const NoApplication = defineError<{ applicationName: string }>(
  'no_such_application_of_stream',
  404,
  'There is no application {applicationName}, or the caller may not read it',
)

export const NoEndpoint = defineError<{ endpointId: string }>(
  'no_such_endpoint_of_stream',
  404,
  'There is no endpoint {endpointId}, or the caller may not read it',
)

export const NoStream = defineError<{ streamId: string }>(
  'no_such_stream',
  404,
  'There is no open stream {streamId} of this caller; open a new stream with the id of the last event that you received',
)

export const NodeSilent = defineError(
  'stream_node_silent',
  503,
  'The node that serves the stream does not answer; try again, or open a new stream',
  { 'retry-after': '1' },
)

const retryLater = { 'retry-after': '10' }

export const TooManyStreams = defineError<{ whose: string; limit: number }>(
  'too_many_streams',
  429,
  '{whose} already has {limit} live streams open, the maximum; close one first',
  retryLater,
)

export const NodeFull = defineError<{ limit: number }>(
  'streams_are_full',
  429,
  'This node already serves {limit} live streams, the maximum; try again later',
  retryLater,
)
