/** Reads the time range of a request. */
import { invalidField } from '../../kernel/errors.ts'
import { timeText } from '../../kernel/times.ts'
import { endOf, type Span, startOf } from './times.ts'

const expected = `expected ${timeText}`

interface Dates {
  fromDate: string | number
  toDate: string | number
  includeTime?: 'from' | 'to' | 'both' | 'none'
}

export function spanOf({ fromDate, toDate, includeTime }: Dates, now: Date): Span {
  const from = startOf(fromDate, includeTime === 'from' || includeTime === 'both', now)
  const to = endOf(toDate, includeTime === 'to' || includeTime === 'both', now)
  if (from === undefined) throw invalidField('fromDate', expected)
  if (to === undefined) throw invalidField('toDate', expected)
  // If both dates are the same time and exclusive, `from` is two milliseconds after `to`. Such a range is valid, but empty.
  if (from > to + 2) throw invalidField('toDate', 'expected a time that is not before fromDate')
  return { from, to }
}
