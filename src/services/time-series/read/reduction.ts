/** Parses the parameters of a request that reduce the number of points. */
import { invalidField } from '../../../kernel/errors.ts'
import type { Reduction } from './data.ts'
import type { Aggregate } from './interval-sums.ts'
import { type Interval, intervalInZone, intervalOf } from './intervals.ts'
import { timeZoneOf } from './time-zones.ts'

export interface ReductionRequest {
  aggregate?: Aggregate
  interval?: string
  timeZone?: string
  points?: number
}

/** Returns how points are reduced, or undefined if all points are returned. */
export function reductionOf({ aggregate, interval, timeZone, points }: ReductionRequest): Reduction | undefined {
  if (points !== undefined && (aggregate ?? interval) !== undefined)
    throw invalidField('points', 'cannot be combined with aggregate and interval')
  if (timeZone !== undefined && interval === undefined)
    throw invalidField('timeZone', 'is allowed only with aggregate and interval')
  if (points !== undefined) return { points }
  if (aggregate === undefined && interval === undefined) return undefined
  if (aggregate === undefined) throw invalidField('aggregate', 'is required with interval')
  if (interval === undefined) throw invalidField('interval', 'is required with aggregate')
  return { aggregate, interval: timeZone === undefined ? intervalOf(interval)! : zonedInterval(interval, timeZone) }
}

function zonedInterval(interval: string, timeZone: string): Interval {
  const zone = timeZoneOf(timeZone)
  if (!zone) throw invalidField('timeZone', `expected the name of a time zone, such as Europe/Berlin`)
  return intervalInZone(interval, zone)!
}
