/** Time ranges of queries. */
import { timeOf } from '../../kernel/times.ts'

/** Matches fractions that are finer than a millisecond. Points have no such times. */
const finer = /[.,]\d{3}\d*[1-9]/

/** A time range; both times are included. */
export interface Span {
  from: number
  to: number
}

/** Returns the first time of a range. With `isInclusive`, the range includes the given time itself. */
export function startOf(given: string | number, isInclusive: boolean, now: Date): number | undefined {
  const time = timeOf(given, now)
  return time === undefined ? undefined : isInclusive && !finer.test(String(given)) ? time : time + 1
}

/** Returns the last time of a range. With `isInclusive`, the range includes the given time itself. */
export function endOf(given: string | number, isInclusive: boolean, now: Date): number | undefined {
  const time = timeOf(given, now)
  return time === undefined ? undefined : isInclusive || finer.test(String(given)) ? time : time - 1
}
