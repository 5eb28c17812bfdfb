import { defineError } from '../../kernel/errors.ts'

/** `series`: the first for which there is no room, with the name of its value. */
export const TooManySeries = defineError<{ applicationName: string; limit: number; series: string }>(
  'too_many_series',
  400,
  'Application {applicationName} may have {limit} values of series, and {series} would be one more; nothing was stored',
)

/** `problem` begins with the field. */
export const SampleRefused = defineError<{ sample: number; problem: string }>(
  'sample_refused',
  400,
  'Sample {sample}: {problem}; nothing of the message was stored',
)

export const PointRefused = defineError<{ point: string; problem: string }>(
  'point_refused',
  400,
  '{point}: {problem}; nothing was stored',
)
