/**
 * In which parts something large is read, so that each fits into memory and is worth a statement: several endpoints as long as
 * they are small, days of a large one, series of a large day, hours of a large series.
 */
import type { Sql } from '../../../kernel/db.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import * as store from '../store/reading.ts'
import type { Span } from '../times.ts'
import { type AskedSeries, idsOf } from './asked-series.ts'

export interface Task extends Span {
  endpointNos: number[]
  series: AskedSeries[]
}

export interface PlanOptions {
  descending: boolean
  /** Points of a task, about. */
  pointsMax: number
  /** A large endpoint series by series, and each of them by days; else day by day, and a large day by series. */
  seriesFirst: boolean
}

const daysAtOnce = 5000
/** Chunks that one statement counts, about: nobody waits long for it, and one who goes away leaves little behind. */
const chunksAtOnce = 200_000
/** More than that, and most of the days will have nothing. */
const daysUsually = 400

/** In the order of the endpoints; the parts of one endpoint in the order of time. */
export async function* plan(sql: Sql, task: Task, options: PlanOptions): AsyncGenerator<Task> {
  if (task.series.length === 0 || task.from > task.to) return
  const days = Math.min(daysUsually, (task.to - task.from) / dayMs + 1)
  const atOnce = Math.max(10, Math.floor(chunksAtOnce / (days * idsOf(task.series).length)))
  for (let first = 0; first < task.endpointNos.length; first += atOnce)
    yield* ofSome(sql, { ...task, endpointNos: task.endpointNos.slice(first, first + atOnce) }, options)
}

async function* ofSome(sql: Sql, task: Task, options: PlanOptions): AsyncGenerator<Task> {
  const sizes = sizesOf(await store.sumByEndpoint(sql, partOf(task)))
  for (const endpointNos of grouped(task.endpointNos, (no) => sizes.get(no) ?? 0, options.pointsMax)) {
    const some = { ...task, endpointNos }
    if (endpointNos.length > 1 || (sizes.get(endpointNos[0]!) ?? 0) <= options.pointsMax) yield some
    else if (options.seriesFirst)
      yield* bySeries(sql, some, options, (series) =>
        byDays(sql, series, options, (large, day) => byTimes(sql, large, day, options)),
      )
    else
      yield* byDays(sql, some, options, (large, day) =>
        bySeries(sql, large, options, (series) => byTimes(sql, series, day, options)),
      )
  }
}

/** Of one endpoint. `ofLarge`: before and after that day there is nothing that is packed. */
async function* byDays(
  sql: Sql,
  task: Task,
  { descending, pointsMax }: PlanOptions,
  ofLarge: (task: Task, day: number) => AsyncGenerator<Task>,
): AsyncGenerator<Task> {
  let rest: Span | undefined = task
  while (rest) {
    const span: Span = rest
    const days = await store.sumByDay(sql, partOf({ ...task, ...span }), { descending, limit: daysAtOnce })
    rest = days.length < daysAtOnce ? undefined : restAfter(span, days.at(-1)!.key, descending)
    const sizes = sizesOf(days)
    const parts = [...grouped([...sizes.keys()], (day) => sizes.get(day)!, pointsMax)]
    // Whatever lies between the parts belongs to one of them: what is not packed may be there.
    const cuts = parts.slice(1).map(([first]) => first!)
    const spans = spansOf(rest ? beforeRest(span, rest, descending) : span, cuts, descending)
    for (const [index, own] of spans.entries()) {
      const part = parts[index] ?? []
      const isLarge = part.length === 1 && sizes.get(part[0]!)! > pointsMax
      const some = { ...task, ...own }
      if (isLarge) yield* ofLarge(some, part[0]!)
      else yield some
    }
  }
}

/** Of one endpoint. */
async function* bySeries(
  sql: Sql,
  task: Task,
  { pointsMax }: PlanOptions,
  ofLarge: (task: Task) => AsyncGenerator<Task>,
): AsyncGenerator<Task> {
  const sizes = sizesOf(await store.sumBySeries(sql, partOf(task)))
  const sizeOf = ({ values }: AskedSeries) => values.reduce((sum, { seriesId }) => sum + (sizes.get(seriesId) ?? 0), 0)
  for (const series of grouped(task.series, sizeOf, pointsMax)) {
    const some = { ...task, series }
    if (series.length > 1 || sizeOf(series[0]!) <= pointsMax) yield some
    else yield* ofLarge(some)
  }
}

/** Of one endpoint, one day and one series. */
async function* byTimes(sql: Sql, task: Task, day: number, { descending, pointsMax }: PlanOptions) {
  const within = { ...task, from: Math.max(task.from, day * dayMs), to: Math.min(task.to, (day + 1) * dayMs - 1) }
  const chunks = await store.findBeginnings(sql, partOf(within))
  const cuts: number[] = []
  let points = 0
  for (const { from, points: own } of chunks) {
    if (points > 0 && points + own > pointsMax && from > (cuts.at(-1) ?? task.from)) {
      cuts.push(from)
      points = 0
    }
    points += own
  }
  const starts = [task.from, ...cuts]
  const spans = starts.map((from, index) => ({ from, to: (starts[index + 1] ?? task.to + 1) - 1 }))
  for (const own of descending ? spans.toReversed() : spans) yield { ...task, ...own }
}

const partOf = ({ endpointNos, series, from, to }: Task): store.Part => ({
  endpointNos,
  seriesIds: idsOf(series),
  from,
  to,
})

const sizesOf = (sizes: store.Size[]) => new Map(sizes.map(({ key, points }) => [key, points]))

/** Neighbours together, as long as they are not too much; what alone is too much is alone. */
export function* grouped<T>(all: T[], sizeOf: (one: T) => number, most: number): Generator<T[]> {
  let [some, sum]: [T[], number] = [[], 0]
  for (const one of all) {
    const size = sizeOf(one)
    if (some.length > 0 && sum + size > most) {
      yield some
      some = []
      sum = 0
    }
    some.push(one)
    sum += size
  }
  if (some.length > 0) yield some
}

/** Cut at the beginning (descending: at the end) of these days, which are in the order of reading. */
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

/** What comes after a day in the order of reading. */
function restAfter({ from, to }: Span, day: number, descending: boolean): Span | undefined {
  const rest = descending ? { from, to: day * dayMs - 1 } : { from: (day + 1) * dayMs, to }
  return rest.from <= rest.to ? rest : undefined
}

const beforeRest = ({ from, to }: Span, rest: Span, descending: boolean): Span =>
  descending ? { from: rest.to + 1, to } : { from, to: rest.from - 1 }
