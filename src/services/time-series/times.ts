/** Time ranges of queries. */
import { anyTimeOf, timeMax, timeMin } from '../../kernel/times.ts'

/** Matches fractions that are finer than a millisecond. Points have no such times. */
const finer = /[.,]\d{3}\d*[1-9]/

/** A time range; both times are included. */
export interface Span {
  from: number
  to: number
}

/** Returns the first time of a range. With `isInclusive`, the range includes the given time itself. */
export function startOf(given: string | number, isInclusive: boolean, now: Date): number | undefined {
  const time = anyTimeOf(given, now)
  if (time === undefined) return undefined
  return within(isInclusive && !finer.test(String(given)) ? time : time + 1)
}

/** Returns the last time of a range. With `isInclusive`, the range includes the given time itself. */
export function endOf(given: string | number, isInclusive: boolean, now: Date): number | undefined {
  const time = anyTimeOf(given, now)
  if (time === undefined) return undefined
  return within(isInclusive || finer.test(String(given)) ? time : time - 1)
}

/** Limits a time to the times that points can have, and one millisecond before and after them, so that a range can exclude all points. */
const within = (time: number) => Math.min(timeMax + 1, Math.max(timeMin - 1, time))
