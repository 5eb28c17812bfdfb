import { defineError } from '../../kernel/errors.ts'

export const TooManySeries = defineError<{ applicationName: string; limit: number }>(
  'too_many_series',
  400,
  'Application {applicationName} has {limit} values of series, which is the most that it may have; nothing was stored',
)
