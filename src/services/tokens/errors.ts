import { defineError } from '../../kernel/errors.ts'

// The same texts for what does not exist and for what the caller may not do: here missing permission is 404 too.
export const NoEndpoint = defineError<{ endpointId: string }>(
  'no_such_endpoint_of_tokens',
  404,
  'There is no endpoint {endpointId}',
)
export const NoToken = defineError<{ endpointId: string; endpointTokenId: string }>(
  'no_such_token',
  404,
  'There is no token {endpointTokenId} of endpoint {endpointId}',
)
/** Without the token: it is a secret, also of the one who has it. */
export const TokenTaken = defineError<{ applicationName: string }>(
  'token_taken',
  409,
  'Application {applicationName} already has this token',
)
export const TooManyTokens = defineError<{ endpointId: string; limit: number }>(
  'too_many_tokens',
  409,
  'Endpoint {endpointId} has {limit} tokens, which is the most that an endpoint can have: delete some first',
)
export const StatusMoveRefused = defineError<{ from: string; to: string; possible: string }>(
  'token_status_move_refused',
  409,
  'A token that is {from} cannot become {to}: {possible}',
)
