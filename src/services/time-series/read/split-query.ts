/**
 * Splits a large query into tasks that fit into memory. Small endpoints are combined. A large endpoint is split into days, a large day into
 * series, and a large series into hours.
 */
import type { Sql } from '../../../kernel/db.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import * as store from '../store/reading.ts'
import type { Span } from '../times.ts'
import { idsOf, type SelectedSeries } from './selected-series.ts'

export interface Task extends Span {
  endpointNos: number[]
  series: SelectedSeries[]
}

export interface SplitOptions {
  descending: boolean
  /** Approximate maximum number of points in a task. */
  pointsMax: number
  /** True if a large endpoint is split by series first and then by days; false for the other order. */
  seriesFirst: boolean
}

const daysPerStatement = 5000
/**
 * Approximate number of chunks that one statement counts. It is small, because a statement continues to its end even after its client has
 * disconnected.
 */
const chunksPerStatement = 200_000
/** Maximum number of days that the estimate assumes, because longer queries rarely have chunks on most of their days. */
const typicalDaysMax = 400

/** Yields tasks in the order of the endpoints. The tasks of one endpoint are in time order. */
export async function* splitQuery(sql: Sql, task: Task, options: SplitOptions): AsyncGenerator<Task> {
  if (task.series.length === 0 || task.from > task.to) return
  const days = Math.min(typicalDaysMax, (task.to - task.from) / dayMs + 1)
  const endpointsPerStatement = Math.max(10, Math.floor(chunksPerStatement / (days * idsOf(task.series).length)))
  for (let first = 0; first < task.endpointNos.length; first += endpointsPerStatement)
    yield* splitEndpoints(
      sql,
      { ...task, endpointNos: task.endpointNos.slice(first, first + endpointsPerStatement) },
      options,
    )
}

async function* splitEndpoints(sql: Sql, task: Task, options: SplitOptions): AsyncGenerator<Task> {
  const sizes = sizesOf(await store.sumByEndpoint(sql, partOf(task)))
  for (const endpointNos of groupBySize(task.endpointNos, (no) => sizes.get(no) ?? 0, options.pointsMax)) {
    const part = { ...task, endpointNos }
    if (endpointNos.length > 1 || (sizes.get(endpointNos[0]!) ?? 0) <= options.pointsMax) yield part
    else if (options.seriesFirst)
      yield* splitBySeries(sql, part, options, (series) =>
        splitByDays(sql, series, options, (large, day) => splitByTimes(sql, large, day, options)),
      )
    else
      yield* splitByDays(sql, part, options, (large, day) =>
        splitBySeries(sql, large, options, (series) => splitByTimes(sql, series, day, options)),
      )
  }
}

/** Splits one endpoint by days. `splitLarge` gets a day that exceeds the limit, with a task in which no other day has packed points. */
async function* splitByDays(
  sql: Sql,
  task: Task,
  { descending, pointsMax }: SplitOptions,
  splitLarge: (task: Task, day: number) => AsyncGenerator<Task>,
): AsyncGenerator<Task> {
  let remaining: Span | undefined = task
  while (remaining) {
    const span: Span = remaining
    const days = await store.sumByDay(sql, partOf({ ...task, ...span }), { descending, limit: daysPerStatement })
    remaining = days.length < daysPerStatement ? undefined : restAfter(span, days.at(-1)!.key, descending)
    const sizes = sizesOf(days)
    const parts = [...groupBySize([...sizes.keys()], (day) => sizes.get(day)!, pointsMax)]
    // Times between the packed days of two parts must belong to one of the parts too, because samples may have such times.
    const cuts = parts.slice(1).map(([first]) => first!)
    const spans = spansOf(remaining ? withoutRest(span, remaining, descending) : span, cuts, descending)
    for (const [index, partSpan] of spans.entries()) {
      const daysOfPart = parts[index] ?? []
      const isLarge = daysOfPart.length === 1 && sizes.get(daysOfPart[0]!)! > pointsMax
      const part = { ...task, ...partSpan }
      if (isLarge) yield* splitLarge(part, daysOfPart[0]!)
      else yield part
    }
  }
}

/** Splits one endpoint by series. */
async function* splitBySeries(
  sql: Sql,
  task: Task,
  { pointsMax }: SplitOptions,
  splitLarge: (task: Task) => AsyncGenerator<Task>,
): AsyncGenerator<Task> {
  const sizes = sizesOf(await store.sumBySeries(sql, partOf(task)))
  const sizeOf = ({ values }: SelectedSeries) =>
    values.reduce((sum, { seriesId }) => sum + (sizes.get(seriesId) ?? 0), 0)
  for (const series of groupBySize(task.series, sizeOf, pointsMax)) {
    const part = { ...task, series }
    if (series.length > 1 || sizeOf(series[0]!) <= pointsMax) yield part
    else yield* splitLarge(part)
  }
}

/** Splits one day of one series by the times at which its chunks begin. */
async function* splitByTimes(sql: Sql, task: Task, day: number, { descending, pointsMax }: SplitOptions) {
  const dayTask = { ...task, from: Math.max(task.from, day * dayMs), to: Math.min(task.to, (day + 1) * dayMs - 1) }
  const chunks = await store.findChunkStarts(sql, partOf(dayTask))
  const cuts: number[] = []
  let points = 0
  for (const { from, points: chunkPoints } of chunks) {
    if (points > 0 && points + chunkPoints > pointsMax && from > (cuts.at(-1) ?? task.from)) {
      cuts.push(from)
      points = 0
    }
    points += chunkPoints
  }
  const starts = [task.from, ...cuts]
  const spans = starts.map((from, index) => ({ from, to: (starts[index + 1] ?? task.to + 1) - 1 }))
  for (const span of descending ? spans.toReversed() : spans) yield { ...task, ...span }
}

const partOf = ({ endpointNos, series, from, to }: Task): store.Part => ({
  endpointNos,
  seriesIds: idsOf(series),
  from,
  to,
})

const sizesOf = (sizes: store.Size[]) => new Map(sizes.map(({ key, points }) => [key, points]))

/** Groups consecutive items up to the limit. An item that exceeds the limit forms a group of its own. */
export function* groupBySize<T>(items: T[], sizeOf: (item: T) => number, limit: number): Generator<T[]> {
  let [group, sum]: [T[], number] = [[], 0]
  for (const item of items) {
    const size = sizeOf(item)
    if (group.length > 0 && sum + size > limit) {
      yield group
      group = []
      sum = 0
    }
    group.push(item)
    sum += size
  }
  if (group.length > 0) yield group
}

/** Cuts a time range where these days begin, or where they end if the order is descending. The days are in reading order. */
function spansOf({ from, to }: Span, days: number[], descending: boolean): Span[] {
  const spans: Span[] = []
  let [low, high] = [from, to]
  for (const day of days)
    if (descending) {
      spans.push({ from: (day + 1) * dayMs, to: high })
      high = (day + 1) * dayMs - 1
    } else {
      spans.push({ from: low, to: day * dayMs - 1 })
      low = day * dayMs
    }
  return [...spans, { from: low, to: high }]
}

/** Returns the part of the range that follows a day in reading order. */
function restAfter({ from, to }: Span, day: number, descending: boolean): Span | undefined {
  const rest = descending ? { from, to: day * dayMs - 1 } : { from: (day + 1) * dayMs, to }
  return rest.from <= rest.to ? rest : undefined
}

const withoutRest = ({ from, to }: Span, rest: Span, descending: boolean): Span =>
  descending ? { from: rest.to + 1, to } : { from, to: rest.from - 1 }
