import { defineError } from '../../kernel/errors.ts'

// The text of a 404 does not reveal whether an object is missing or the caller may not read it.
export const NoEndpoint = defineError<{ endpointId: string }>(
  'no_such_endpoint',
  404,
  'There is no endpoint {endpointId}, or the caller may not read it',
)
export const EndpointIdTaken = defineError<{ endpointId: string }>(
  'endpoint_id_taken',
  409,
  'Endpoint {endpointId} already exists; choose another id',
)
/** The text does not contain the token, because the token is a secret and the reasons in a batch are stored unsealed. */
export const EndpointTokenTaken = defineError<{ applicationName: string }>(
  'endpoint_token_taken',
  409,
  'Application {applicationName} already has this endpointToken; choose another token',
)
export const NoApplicationHere = defineError<{ name: string }>(
  'no_such_application_here',
  404,
  'There is no application {name}, or the caller may not read it',
)
export const NoMetadataKey = defineError<{ key: string; endpointId: string }>(
  'no_such_metadata_key',
  404,
  'Endpoint {endpointId} has no metadata key {key}',
)
export const NoBatch = defineError<{ taskId: string }>(
  'no_such_batch',
  404,
  'There is no batch {taskId}, or the caller may not read it',
)
export const NoVersionHere = defineError<{ name: string }>(
  'no_such_version_here',
  404,
  'There is no application version {name}, or the caller may not read it',
)
export const NoFilter = defineError<{ filterId: string }>(
  'no_such_filter',
  404,
  'There is no filter {filterId} in this application, or the caller may not read it',
)
export const FilterNameTaken = defineError<{ name: string; applicationName: string }>(
  'filter_name_taken',
  409,
  'Filter {name} already exists in application {applicationName}; choose another name',
)
