import { defineError } from '../../kernel/errors.ts'

export const SearchTooLong = defineError<{ seconds: number }>(
  'traffic_search_too_long',
  400,
  'The search did not finish within {seconds} s: ask for a shorter time with fromCreatedAt and toCreatedAt, or for fewer endpoints',
)
export const NoOutcome = defineError<{ extension: string; requestId: number }>(
  'no_such_outcome',
  404,
  'No response to request {requestId} of extension {extension} is recorded; send the request again',
)
export const NoOutcomePath = defineError<{ path: string }>(
  'no_such_outcome_path',
  404,
  'There is no resource {path}: name an extension and the id of a request to it, such as dcx/42',
)
