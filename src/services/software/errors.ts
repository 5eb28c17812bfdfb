import { defineError } from '../../kernel/errors.ts'

// Each kind of object has one 'not found' error. It is the same whether the object is missing, belongs to another tenant or is not
// permitted, so that it does not reveal which objects exist.
export const NoApplicationWithSoftware = defineError<{ appName: string }>(
  'no_such_application_of_software',
  404,
  'There is no application {appName}, or the caller may not access its software',
)
export const NoSoftware = defineError<{ appName: string; softwareVersion: string }>(
  'no_such_software',
  404,
  'There is no software version {softwareVersion} of application {appName}, or the caller may not access it',
)
export const NoSoftwareFile = defineError<{ appName: string; softwareVersion: string }>(
  'no_such_software_file',
  404,
  'Software version {softwareVersion} of application {appName} has no such file, or the caller may not access it',
)
export const NoSoftwareEndpoint = defineError<{ appName: string; endpointId: string }>(
  'no_such_software_endpoint',
  404,
  'Endpoint {endpointId} of application {appName} has reported no software and was offered no software, or the caller may not access it',
)
export const SoftwareTaken = defineError<{ softwareVersion: string; appName: string }>(
  'software_version_taken',
  409,
  'Software version {softwareVersion} of application {appName} already exists',
)
export const SoftwareInUse = defineError<{ softwareVersion: string }>(
  'software_in_use',
  409,
  'Software version {softwareVersion} is the current version of at least one endpoint',
)
export const SpecificationTooLarge = defineError<{ limit: number }>(
  'specification_too_large',
  413,
  'specification: the specification has more than {limit} bytes of JSON, which do not fit into a message to a device',
)
export const LinkRejected = defineError(
  'software_link_refused',
  403,
  'The signature of the link is wrong or expired; the device gets a new link with its next request for software',
)
export const SoftwareContentLost = defineError(
  'software_content_lost',
  404,
  'The content of the file is missing in the blob store; ask the operator of the platform, whose log names the cause',
)
