import { defineError } from '../../kernel/errors.ts'

// These errors do not reveal whether an application is missing or not readable for the caller.
export const NoApplication = defineError<{ name: string }>(
  'no_such_application',
  404,
  'There is no application {name}, or the caller may not read it',
)
export const NoVersion = defineError<{ name: string }>(
  'no_such_application_version',
  404,
  'There is no application version {name}, or the caller may not read it',
)
export const NoServiceInstance = defineError<{ name: string }>(
  'no_such_service_instance',
  404,
  'There is no service instance {name}',
)
export const ApplicationNameTaken = defineError<{ name: string }>(
  'application_name_taken',
  409,
  'Application {name} already exists; choose another name',
)
export const VersionNameTaken = defineError<{ name: string }>(
  'application_version_name_taken',
  409,
  'Application version {name} already exists; choose another suffix',
)
export const TooManyVersions = defineError<{ name: string; limit: number }>(
  'too_many_application_versions',
  409,
  'Application {name} already has {limit} versions, the maximum; delete one first',
)
export const StillUsed = defineError<{ name: string; users: string }>(
  'application_still_used',
  409,
  '{name} cannot be deleted: it is still used by {users}',
)
export const AlreadyConfigured = defineError(
  'already_configured',
  409,
  'Applications already have configurations: the initial load needs a platform without configurations; change single applications instead',
)
