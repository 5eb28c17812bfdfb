import { defineError } from '../../kernel/errors.ts'

// These errors do not reveal whether an object is missing, belongs to another tenant or is not readable for the caller.
export const NoEndpoint = defineError<{ endpointId: string }>(
  'no_such_endpoint_to_configure',
  404,
  'There is no endpoint {endpointId}, or the caller may not read it',
)
export const NoVersion = defineError<{ appVersionName: string }>(
  'no_such_version_to_configure',
  404,
  'There is no application version {appVersionName} of this application, or the caller may not read it',
)
export const NoFilter = defineError<{ filterId: string }>(
  'no_such_filter_to_configure',
  404,
  'There is no filter {filterId}, or the caller may not read it',
)
export const NoConfiguration = defineError<{ name: string; appVersionName: string }>(
  'no_configuration',
  404,
  'There is no configuration {name} for application version {appVersionName}',
)
export const SchemaMissing = defineError<{ appVersionName: string }>(
  'configuration_schema_missing',
  404,
  'The application requires a configuration schema, but application version {appVersionName} has none; set ' +
    'endpointConfigurationSchema of the service instance ecr',
)
export const NoSchema = defineError<{ appVersionName: string }>(
  'no_configuration_schema',
  404,
  'There is no configuration schema for application version {appVersionName}',
)
export const SchemaViolated = defineError<{ appVersionName: string; problem: string }>(
  'configuration_schema_violated',
  422,
  'The configuration violates the schema of application version {appVersionName}: {problem}; nothing was changed',
)
export const SchemaInvalid = defineError<{ problem: string }>(
  'configuration_schema_invalid',
  422,
  'The schema cannot be used: {problem}',
)
export const SchemaUnusable = defineError<{ appVersionName: string; problem: string }>(
  'configuration_schema_unusable',
  503,
  'The stored configuration schema of application version {appVersionName} cannot be used: {problem}; nothing was changed',
)
export const ConfigurationTooLarge = defineError<{ limit: number }>(
  'configuration_too_large',
  413,
  'The configuration has more than {limit} bytes of JSON, too many for one packet to a device',
)
export const NoSystemOwner = defineError<{ what: string; id: string }>(
  'no_such_system_configuration_place',
  404,
  'There is no {what} {id}, or the caller may not read it',
)
export const NoSystemConfiguration = defineError<{ configId: string }>(
  'no_such_system_configuration',
  404,
  'There is no system configuration {configId} at this level',
)
export const NoCurrentSystemConfiguration = defineError<{ name: string }>(
  'no_current_system_configuration',
  404,
  'There is no system configuration with the name {name}, at this level or above',
)
export const SystemConfigurationTaken = defineError<{ name: string }>(
  'system_configuration_taken',
  409,
  'There is already a system configuration with the name {name} at this level',
)
