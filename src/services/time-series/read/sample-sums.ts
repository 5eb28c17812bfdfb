/**
 * Reads sums of samples that are not packed yet, together with the chunks of the same snapshot. An endpoint is read point by
 * point instead if its sums could differ from those of its points: a time occurs twice, a value is not a number, or a sample
 * lies among packed points, which it may replace.
 */
import type { Db, Sql } from '../../../kernel/db.ts'
import type { PackedOfSeries } from '../store/reading.ts'
import { countSamples, readsSingleColumns } from '../store/reading.ts'
import { findSampleSums, type SampleSums } from '../store/sample-sums.ts'
import type { Sum } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import type { SampleFormat } from './sample-points.ts'
import { groupBySize, type Task } from './split-query.ts'

/** Sums by endpoint and series. */
export type SumsOfSamples = Map<number, Map<number, Sum[]>>

export interface LoadedSums {
  /** The part of the task that was loaded; undefined means nothing. */
  loaded?: Task
  sums: SumsOfSamples
  packed: PackedOfSeries[]
  remaining: Task[]
}

type FindPacked = (sql: Sql, task: Task, sampledDays: number[]) => Promise<PackedOfSeries[]>

const dayMs = 86_400_000

/** Returns whether sums can be read: if a series is in two sets, both may have a sample of the same time. */
export function canSumSamples({ sets, wanted, bySet }: SampleFormat): boolean {
  const columns = [...bySet.values()].flatMap((ofSet) => ofSet.wanted)
  return sets.length > 0 && readsSingleColumns(sets, wanted) && new Set(columns).size === columns.length
}

/** Returns undefined if the task has to be read point by point. */
export async function loadSums(
  db: Db,
  task: Task,
  format: SampleFormat,
  interval: Interval & { fixed: NonNullable<Interval['fixed']> },
  { findPacked, samplesMax, withExtremes }: { findPacked: FindPacked; samplesMax: number; withExtremes: boolean },
): Promise<LoadedSums | undefined> {
  const isCut = (rows: SampleSums[]) => rows.reduce((sum, { times }) => sum + times.length, 0) > samplesMax
  const part = { ...format, ...task }
  const found = await db.sql
    .begin('isolation level repeatable read read only', async (sql) => {
      const rows = await findSampleSums(sql, part, { ...interval.fixed, limit: samplesMax + 1, withExtremes })
      if (isCut(rows)) return { rows, packed: [] }
      return { rows, packed: await findPacked(sql, task, daysOf(rows)) }
    })
    .catch((error) => {
      if ((error as { code?: unknown }).code === outOfRange) return undefined
      throw error
    })
  if (!found) return undefined
  const { rows, packed } = found
  if (isCut(rows)) return await smallerTasks(db.sql, task, format, samplesMax)
  const { sums, exactNos } = sumsOfRows(rows, packed, format, interval)
  if (exactNos.size === 0) return { loaded: task, sums, packed, remaining: [] }
  if (exactNos.size === task.endpointNos.length) return undefined
  const [summed, exact] = [false, true].map((isExact) => task.endpointNos.filter((no) => exactNos.has(no) === isExact))
  return {
    loaded: { ...task, endpointNos: summed! },
    sums,
    packed: packed.filter(({ endpointNo }) => !exactNos.has(endpointNo)),
    remaining: [{ ...task, endpointNos: exact!, isExact: true }],
  }
}

/** PostgreSQL's error code for a sum that exceeds the range of numbers. */
const outOfRange = '22003'

async function smallerTasks(
  sql: Sql,
  task: Task,
  format: SampleFormat,
  samplesMax: number,
): Promise<LoadedSums | undefined> {
  if (task.endpointNos.length === 1) return undefined
  const counts = new Map((await countSamples(sql, { ...format, ...task })).map((one) => [one.key, one.points]))
  const parts = groupBySize(task.endpointNos, (no) => counts.get(no) ?? 0, samplesMax)
  return { sums: new Map(), packed: [], remaining: Array.from(parts, (endpointNos) => ({ ...task, endpointNos })) }
}

/** Returns the sums, and the endpoints that have to be read point by point. */
function sumsOfRows(rows: SampleSums[], packed: PackedOfSeries[], format: SampleFormat, interval: Interval) {
  const sums: SumsOfSamples = new Map()
  const exactNos = new Set<number>()
  const spans = new Map<number, { from: number; to: number }>()
  for (const { endpointNo, setId, times, values } of rows) {
    if (exactNos.has(endpointNo)) continue
    const span = spanOfDistinct(times)
    if (!span) {
      exactNos.add(endpointNo)
      continue
    }
    const before = spans.get(endpointNo) ?? span
    spans.set(endpointNo, { from: Math.min(before.from, span.from), to: Math.max(before.to, span.to) })
    const bySeries = sums.get(endpointNo) ?? new Map<number, Sum[]>()
    sums.set(endpointNo, bySeries)
    for (const column of format.bySet.get(setId)!.wanted) {
      const { sum, min, max } = values[column]!
      if (sum === null || Number.isNaN(sum)) {
        exactNos.add(endpointNo)
        break
      }
      const seriesId = format.wanted[column]!
      const added: Sum = { start: interval.startOf(span.from), count: times.length, sum, min, max, others: 0 }
      const known = bySeries.get(seriesId)
      if (known) known.push(added)
      else bySeries.set(seriesId, [added])
    }
  }
  for (const { endpointNo, tMin, tMax } of packed) {
    const span = spans.get(endpointNo)
    if (span && tMin !== null && tMax !== null && tMin <= span.to && tMax >= span.from) exactNos.add(endpointNo)
  }
  for (const endpointNo of exactNos) sums.delete(endpointNo)
  return { sums, exactNos }
}

/** Returns the first and the last time; undefined if a time occurs twice. */
function spanOfDistinct(times: Float64Array): { from: number; to: number } | undefined {
  let ordered = times
  for (let index = 1; index < times.length; index++)
    if (times[index]! <= times[index - 1]!) {
      ordered = times.toSorted()
      break
    }
  if (ordered !== times)
    for (let index = 1; index < ordered.length; index++) if (ordered[index] === ordered[index - 1]) return undefined
  return { from: ordered[0]!, to: ordered[ordered.length - 1]! }
}

function daysOf(rows: SampleSums[]): number[] {
  const days = new Set<number>()
  for (const { times } of rows) {
    let day = Number.NaN
    for (const time of times) {
      const current = Math.floor(time / dayMs)
      if (current !== day) days.add(current)
      day = current
    }
  }
  return [...days]
}
