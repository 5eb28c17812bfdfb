/** Reads matching records in chronological order from batches and blocks. Only the needed records are decoded. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import { createPace } from '../../../kernel/pace.ts'
import { decodeColumns } from '../codec/block-codec.ts'
import { type Columns, correlationIdAt, recordAt, type StoredRecord } from '../codec/columns.ts'
import { SearchTooLong } from '../errors.ts'
import { findEndpointIds } from '../store/blocks.ts'
import { findUnits, type LoadedUnit, type Position, positionOf, type Unit, type UnitQuery } from '../store/units.ts'
import { countOfGroups, isAnsweredByGroups, matchingIndexes } from './filter.ts'

/** A matching record that is not completely decoded yet. */
export interface Found {
  columns: Columns
  index: number
  unit: LoadedUnit
}

export interface Search {
  sql: Sql
  query: UnitQuery
  /** The search fails after this time, in monotonic milliseconds. */
  deadline: number
  /** Microseconds since 1970. */
  nowMicros: number
}

export const searchSeconds = 5

export function checkDeadline(deadline: number) {
  if (monotonicMs() > deadline) throw SearchTooLong({ seconds: searchSeconds })
}

/** Returns the matching records of a unit, in the order of the unit. */
export function matchesIn({ filter, numbers }: UnitQuery, unit: LoadedUnit): Found[] {
  const columns = decodeColumns(unit.data)
  const { endpoints } = unit
  const endpointIdAt = endpoints
    ? (index: number) => numbers.get(endpoints[index]!)
    : (index: number) => columns.endpointIds[columns.endpoint[index]!]
  return matchingIndexes(filter, columns, endpointIdAt).map((index) => ({ columns, index, unit }))
}

/** Number of units that the first statement reads, and the maximum. Each statement reads twice as many units as the previous statement. */
const unitsMin = 4
const unitsMax = 64

const dayMicros = 86_400_000_000

/** Divides the time into windows. Almost all requested pages are in the last two days, whose few partitions are planned fast. */
function windowsOf(descending: boolean, nowMicros: number) {
  const recent = { from: nowMicros - dayMicros, to: Number.MAX_SAFE_INTEGER }
  const earlier = { from: 0, to: recent.from }
  return descending ? [recent, earlier] : [{ from: 0, to: Number.MAX_SAFE_INTEGER }]
}

/** Reads units in order, in portions of growing size. */
async function* unitsOf(
  { sql, query, deadline, nowMicros }: Search,
  start: Position | undefined,
  first: number,
  withData: boolean,
): AsyncGenerator<LoadedUnit> {
  const most = withData ? unitsMax : 1000
  let limit = Math.max(unitsMin, Math.min(first, most))
  const { from, to } = query.filter.span
  for (const ends of windowsOf(query.descending, nowMicros)) {
    if (ends.to <= from || (ends.from >= to && ends.to !== Number.MAX_SAFE_INTEGER)) continue
    let position = start
    for (;;) {
      const units = await findUnits(sql, query, { position, limit, withData, ends })
      yield* units
      if (units.length < limit) break
      checkDeadline(deadline)
      position = positionOf(units.at(-1)!, query.descending)
      limit = Math.min(limit * 2, most)
    }
  }
}

/** Compares two records in ascending order: by time, then correlation id, then direction. */
function compare(a: Found, b: Found): number {
  const difference = a.columns.micros[a.index]! - b.columns.micros[b.index]!
  if (difference !== 0) return difference
  const [idA, idB] = [correlationIdAt(a.columns, a.index), correlationIdAt(b.columns, b.index)]
  if (idA !== idB) return idA < idB ? -1 : 1
  return Number(outbound(a)) - Number(outbound(b))
}
const outbound = ({ columns, index }: Found) => columns.kinds[columns.kind[index]!]!.outbound

/**
 * Yields matching records in order, in portions. A record is yielded when no later unit can contain a record that comes before it. Units
 * are sorted by their start, or by their end if the order is descending, so that the next unit determines this.
 */
export async function* recordsInOrder(
  search: Search,
  { start, expected }: { start?: Position | undefined; expected: number },
): AsyncGenerator<Found[]> {
  yield* inOrder(search, unitsOf(search, start, Math.ceil(expected / 64), true))
}

/** Yields the matching records of units. The units must be in the order of the query. */
export async function* inOrder(
  { query, deadline }: Search,
  units: AsyncIterable<LoadedUnit> | Iterable<LoadedUnit>,
): AsyncGenerator<Found[]> {
  const { descending } = query
  const pace = createPace()
  let waiting: Found[] = []
  const micros = ({ columns, index }: Found) => columns.micros[index]!
  for await (const unit of units) {
    const bound = descending ? unit.lastAt : unit.firstAt
    const isFinal = (found: Found) => (descending ? micros(found) > bound : micros(found) < bound)
    const final = waiting.filter(isFinal)
    if (final.length > 0) {
      yield final
      waiting = waiting.filter((found) => !isFinal(found))
    }
    const found = matchesIn(query, unit)
    if (found.length > 0) {
      waiting.push(...found)
      waiting.sort(descending ? (a, b) => compare(b, a) : compare)
    }
    await pace()
    checkDeadline(deadline)
  }
  if (waiting.length > 0) yield waiting
}

/** From this offset on, whole units before the page are skipped with the help of their counts. */
const skippedMin = 200

export interface Skipped {
  /** The position of the last unit that was skipped; undefined if no unit was skipped. The page is in the units after it. */
  start: Position | undefined
  /** Number of records between that position and the page. */
  offset: number
}

/**
 * Skips whole units before the page by their counts. A unit is skipped only if no other unit overlaps it in time and it is completely
 * within the span.
 */
export async function skipUnits(search: Search, offset: number): Promise<Skipped> {
  const { query } = search
  const { filter, descending } = query
  if (!isAnsweredByGroups(filter) || offset < skippedMin) return { start: undefined, offset }
  let remaining = offset
  let start: Position | undefined
  let previous: Unit | undefined
  /** The end of all units so far, in the direction of the order. */
  let reached = descending ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY
  for await (const unit of unitsOf(search, undefined, 256, false)) {
    const isDisjoint = previous && (descending ? unit.lastAt < reached : unit.firstAt > reached)
    if (previous && !isDisjoint) return { start, offset: remaining }
    if (previous) {
      const isInside = previous.firstAt >= filter.span.from && previous.lastAt < filter.span.to
      const count = countOfGroups(filter, previous.groups)
      if (!isInside || count > remaining) return { start, offset: remaining }
      remaining -= count
      start = positionOf(previous, descending)
    }
    previous = unit
    reached = descending ? Math.min(reached, unit.firstAt) : Math.max(reached, unit.lastAt)
  }
  return { start, offset: remaining }
}

/** Returns complete records. The ids of endpoints in blocks are looked up. */
export async function loadRecords({ sql, query }: Search, found: Found[]): Promise<StoredRecord[]> {
  const { tenantId } = query.filter
  const numbers = new Set<number>()
  for (const { unit, index } of found) {
    const number = unit.endpoints?.[index]
    if (number !== undefined && !query.numbers.has(number)) numbers.add(number)
  }
  const ids = await findEndpointIds(sql, tenantId, [...numbers])
  return found.map(({ columns, index, unit }) => {
    const record = recordAt(columns, index)
    if (!unit.endpoints) return record
    const number = unit.endpoints[index]!
    return { ...record, endpointId: query.numbers.get(number) ?? ids.get(number) ?? '' }
  })
}
