import { invalidField } from '../../../kernel/errors.ts'
import { timeText } from '../../../kernel/times.ts'
import { endOf } from '../times.ts'

const expected = `expected ${timeText}`

/** Returns the last millisecond before the date. */
export function untilOf(beforeDate: string | number | undefined, now: Date): number | undefined {
  if (beforeDate === undefined) return undefined
  const until = endOf(beforeDate, false, now)
  if (until === undefined) throw invalidField('beforeDate', expected)
  return until
}

/** Returns undefined for an empty list, so that it counts as absent. */
export const nonEmpty = (list: string[] | undefined) => (list && list.length > 0 ? list : undefined)
