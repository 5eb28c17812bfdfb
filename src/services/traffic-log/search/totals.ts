/** Computes exact totals: the stored counts of blocks where possible, plus the records in batches and in blocks at the ends of the span. */
import type { Sql } from '../../../kernel/db.ts'
import { fiveMinutesMs, hourMs } from '../store/counts.ts'
import { type PartSpans, sumOfCounts } from '../store/totals.ts'
import { findUncounted, type LoadedUnit, type UnitQuery } from '../store/units.ts'
import { countOfGroups, isAnsweredByGroups, type MicrosSpan, type RecordFilter } from './filter.ts'
import { matchesIn } from './stream.ts'

/** Returns whether the records in blocks can be counted by the endpoint numbers beside the blocks, without decoding the blocks. */
export const isByEndpoint = (filter: RecordFilter) =>
  filter.visible === 'all' &&
  filter.endpointIds !== undefined &&
  filter.endpointIds.size <= 10 &&
  !filter.versionName &&
  !filter.extension &&
  filter.outbound === undefined &&
  !filter.payload &&
  !filter.resourcePath &&
  filter.requestId === undefined

const isInside = ({ firstAt, lastAt }: LoadedUnit, { from, to }: MicrosSpan) => firstAt >= from && lastAt < to

/** Counts the matching records of units. The counts by group are enough if the filter is by group and the unit is within the span. */
export function countIn(query: UnitQuery, units: LoadedUnit[]): number {
  const { filter } = query
  const byGroup = isAnsweredByGroups(filter)
  let sum = 0
  for (const unit of units)
    sum += byGroup && isInside(unit, filter.span) ? countOfGroups(filter, unit.groups) : matchesIn(query, unit).length
  return sum
}

export interface Total {
  total: number
  /** Number of records in batches, which are not included in the counts. */
  inBatches: number
}

const bucketOf = (micros: number, ms: number) => micros / 1000 / ms

/** Splits a span into whole hours, whole five minutes before and after them, and the rest at both ends. */
export function partsOf({ from, to }: MicrosSpan): PartSpans {
  const whole = (ms: number): MicrosSpan => ({
    from: Math.ceil(bucketOf(from, ms)) * ms * 1000,
    to: Math.floor(bucketOf(to, ms)) * ms * 1000,
  })
  const [hours, minutes] = [whole(hourMs), whole(fiveMinutesMs)]
  if (minutes.from >= minutes.to) return { hours: undefined, minutes: [], rest: [{ from, to }] }
  const rest = [
    { from, to: minutes.from },
    { from: minutes.to, to },
  ].filter((span) => span.from < span.to)
  if (hours.from >= hours.to) return { hours: undefined, minutes: [minutes], rest }
  const beside = [
    { from: minutes.from, to: hours.from },
    { from: hours.to, to: minutes.to },
  ].filter((span) => span.from < span.to)
  return { hours, minutes: beside, rest }
}

/** Counts matching records with the stored counts. The filter may select only by time, application, version and extension. */
export async function totalByCounts(sql: Sql, query: UnitQuery): Promise<Total> {
  const parts = partsOf(query.filter.span)
  const ofSpan = (span: MicrosSpan): UnitQuery => ({ ...query, filter: { ...query.filter, span } })
  const [counted, batches, ...rest] = await Promise.all([
    sumOfCounts(sql, query.filter, parts),
    findUncounted(sql, query, { blocks: 'none' }),
    ...parts.rest.map((span) => findUncounted(sql, ofSpan(span), { blocks: 'all' })),
  ])
  const inBatches = countIn(query, batches)
  const inRest = parts.rest.map((span, index) =>
    countIn(
      ofSpan(span),
      rest[index]!.filter(({ isBatch }) => !isBatch),
    ),
  )
  return { total: counted + inBatches + inRest.reduce((sum, count) => sum + count, 0), inBatches }
}
