import { defineError } from '../../kernel/errors.ts'

export const TooManySeries = defineError<{ applicationName: string; limit: number }>(
  'too_many_series',
  400,
  'Application {applicationName} has {limit} values of series, which is the most that it may have; nothing was stored',
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
