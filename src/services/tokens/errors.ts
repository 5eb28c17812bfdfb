import { defineError } from '../../kernel/errors.ts'

// Without permission, the response is 404 with the same text as for an object that does not exist.
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
/** The text does not contain the token, because the token is a secret of another endpoint. */
export const TokenTaken = defineError<{ applicationName: string }>(
  'token_taken',
  409,
  'Application {applicationName} already has this token; choose another token',
)
export const TooManyTokens = defineError<{ endpointId: string; limit: number }>(
  'too_many_tokens',
  409,
  'Endpoint {endpointId} already has {limit} tokens, the maximum; delete one first',
)
export const TransitionRejected = defineError<{ from: string; to: string; possible: string }>(
  'token_status_move_refused',
  409,
  'The token is {from} and cannot become {to}: {possible}',
)
