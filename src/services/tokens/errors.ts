import { defineError } from '../../kernel/errors.ts'

// The same texts for what does not exist and for what the caller may not do: here missing permission is 404 too.
export const NoEndpoint = defineError<{ endpointId: string }>(
  'no_such_endpoint_of_tokens',
  404,
  'There is no endpoint {endpointId}, or the caller may not use it',
)
export const NoToken = defineError<{ endpointId: string; endpointTokenId: string }>(
  'no_such_token',
  404,
  'There is no token {endpointTokenId} of endpoint {endpointId}, or the caller may not use it',
)
/** Without the token: it is a secret, also of the one who has it. */
export const TokenTaken = defineError<{ applicationName: string }>(
  'token_taken',
  409,
  'Application {applicationName} already has this token; choose another one',
)
export const TooManyTokens = defineError<{ endpointId: string; limit: number }>(
  'too_many_tokens',
  409,
  'Endpoint {endpointId} already has {limit} tokens, the greatest number; delete one first',
)
export const StatusMoveRefused = defineError<{ from: string; to: string; possible: string }>(
  'token_status_move_refused',
  409,
  'The token is {from} and cannot become {to}: {possible}',
)
