import { defineError } from '../../kernel/errors.ts'

export const SearchTooLong = defineError<{ seconds: number }>(
  'traffic_search_too_long',
  400,
  'There is too much to look through in {seconds} s: ask for a shorter time with fromCreatedAt and toCreatedAt, or for fewer endpoints',
)
export const NoOutcome = defineError<{ extension: string; requestId: number }>(
  'no_such_outcome',
  404,
  'Nothing is known of request {requestId} to {extension}',
)
export const NoOutcomePath = defineError<{ path: string }>(
  'no_such_outcome_path',
  404,
  'There is nothing at {path}: name an extension and the id of a request to it',
)
