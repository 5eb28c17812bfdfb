import { defineError } from '../../kernel/errors.ts'

// These errors do not reveal whether an endpoint is missing, belongs to another tenant or is not readable for the caller.
export const NoEndpoint = defineError<{ endpointId: string }>(
  'no_such_endpoint_of_commands',
  404,
  'There is no endpoint {endpointId}, or the caller may not send commands to it',
)
export const NoCommand = defineError<{ commandId: number; commandType: string; endpointId: string }>(
  'no_such_command',
  404,
  'There is no command {commandId} of type {commandType} of endpoint {endpointId}, or the caller lacks the permission for it',
)
export const NoExecutedCommand = defineError<{ commandType: string; endpointId: string }>(
  'no_executed_command',
  404,
  'No command of type {commandType} of endpoint {endpointId} was executed, or the caller may not read it',
)
export const NoApplication = defineError<{ appName: string }>(
  'no_such_application_of_commands',
  404,
  'There is no application {appName}, or the caller may not read its commands',
)
export const NoFilter = defineError<{ filterId: string }>(
  'no_such_filter_of_commands',
  404,
  'There is no filter {filterId}, or the caller may not use it',
)
export const NoTask = defineError<{ taskId: string; applications: string }>(
  'no_such_command_task',
  404,
  'There is no batch {taskId} with endpoints of {applications}, or the caller may not read it',
)
export const CommandDeleted = defineError<{ commandId: number }>(
  'command_deleted',
  404,
  'Command {commandId} was deleted before its result came',
)
export const TooManyOutstanding = defineError<{ limit: number }>(
  'too_many_outstanding_commands',
  429,
  'The endpoint already has {limit} commands without a result, the maximum; delete commands, or wait until they end',
)
export const PayloadTooLarge = defineError<{ limit: number }>(
  'command_payload_too_large',
  413,
  'The payload is larger than {limit} bytes of JSON, which is the most that fits a message to a device',
)
