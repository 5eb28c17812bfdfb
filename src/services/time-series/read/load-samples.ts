/**
 * Loads samples that are not packed yet for a task, which is a part of a query (`split-query.ts`). If a task has too many samples, returns
 * smaller tasks instead.
 */
import type { Db } from '../../../kernel/db.ts'
import * as store from '../store/sample-records.ts'
import type { Span } from '../times.ts'
import {
  countOf,
  hasOthers,
  locate,
  rangeOf,
  type SampleFormat,
  type SamplePoints,
  type Samples,
  samplePoints,
} from './sample-points.ts'
import { groupBySize, type Task } from './split-query.ts'

export interface LoadedSamples {
  /** The part of the task that was loaded; undefined if nothing was loaded. */
  loaded?: Task
  points: SamplePoints
  remaining: Task[]
}

export interface LoadOrder {
  descending: boolean
  /** True if a task with too many samples is split by series before it is split by time. */
  seriesFirst: boolean
  /** True if the points are reduced afterwards. Larger parts can then be read, unless there are texts. */
  isReducing: boolean
}

interface LoadOptions extends store.ColumnOptions {
  inOrder: boolean
  /** Maximum number of samples, if it is less than the default. */
  limit?: number
}

/** Limits of one statement. */
export interface SampleLimits {
  values: number
  /** Maximum number of values in one statement for a reduction, which does not keep the values in memory. */
  reducedValues: number
  textBytes: number
}

type SampleLimitOf = (format: SampleFormat, options: Pick<LoadOptions, 'texts'>) => number

/**
 * Returns which texts the first statement reads. Texts take memory, so they are read in smaller parts than numbers that will be reduced.
 */
const firstTexts = ({ isReducing }: LoadOrder) => (isReducing ? 'none' : 'short')

export function createSampleLoader(db: Db, limits: SampleLimits) {
  const { textBytes: textBytesMax } = limits
  const limitOf: SampleLimitOf = ({ width }, { texts }) =>
    Math.max(1, Math.floor((texts === 'none' ? limits.reducedValues : limits.values) / width)) + 1

  async function find(task: Task, format: SampleFormat, { descending }: LoadOrder, options: LoadOptions) {
    const part = { ...format, ...task }
    const statementOptions = { limit: limitOf(format, options), ...options, descending }
    const rows = await (isSingleTime(task)
      ? store.findSamplesAt(db, part)
      : (options.inOrder ? store.findFirstSamples : store.findSamples)(db, part, statementOptions))
    return rows && locate(rows, format)
  }

  /** Loads samples with the cheapest statement. If the rows require it, loads them again with a more expensive statement. */
  async function load(
    task: Task,
    format: SampleFormat,
    order: LoadOrder,
    forcedOptions?: LoadOptions,
  ): Promise<LoadedSamples> {
    const options = forcedOptions ?? { inOrder: false, withOrder: false, texts: firstTexts(order) }
    const none: LoadedSamples = { loaded: task, points: new Map(), remaining: [] }
    if (format.sets.length === 0) return none
    const samples = await find(task, format, order, options)
    if (!samples) return none
    const reload = (changes: Partial<LoadOptions>) => load(task, format, order, { ...options, ...changes })
    if (options.texts === 'none' && hasOthers(samples)) return await reload({ texts: 'short' })
    if (samples.longBytes > textBytesMax) {
      const parts = splitTexts(task, order)
      if (parts) return { points: new Map(), remaining: parts }
      const limit = Math.max(2, Math.floor((countOf(samples) * textBytesMax) / samples.longBytes))
      return await reload({ inOrder: true, limit })
    }
    if (samples.longBytes > 0) return await reload({ texts: 'all' })
    const limit = options.limit ?? limitOf(format, options)
    const isCut = !isSingleTime(task) && countOf(samples) >= limit
    if (!isCut) return await finish(task, samples, [])
    const parts = await splitCut(db, task, format, order, limit)
    if (parts) return { points: new Map(), remaining: parts }
    if (!options.inOrder) return await reload({ inOrder: true })
    const { loaded, remaining } = cutAt(task, rangeOf(samples), order.descending)
    return loaded ? await finish(loaded, samples, remaining) : { points: new Map(), remaining }

    async function finish(loaded: Task, found: Samples, remaining: Task[]): Promise<LoadedSamples> {
      const points = samplePoints(found, format, loaded)
      return points ? { loaded, points, remaining } : await reload({ withOrder: true })
    }
  }

  /** Loads the two halves of the endpoints at the same time, on two connections. */
  async function loadHalves(task: Task, format: SampleFormat, order: LoadOrder): Promise<LoadedSamples> {
    const middle = task.endpointNos.length >> 1
    const [first, second] = [task.endpointNos.slice(0, middle), task.endpointNos.slice(middle)].map((endpointNos) => ({
      ...task,
      endpointNos,
    })) as [Task, Task]
    const [ofFirst, ofSecond] = await Promise.all([load(first, format, order), load(second, format, order)])
    if (isComplete(ofFirst) && isComplete(ofSecond))
      return { loaded: task, points: new Map([...ofFirst.points, ...ofSecond.points]), remaining: [] }
    if (isComplete(ofFirst)) return { ...ofFirst, loaded: first, remaining: tasksFor(second, ofSecond) }
    return { points: new Map(), remaining: [...tasksFor(first, ofFirst), ...tasksFor(second, ofSecond)] }
  }

  return {
    load: (task: Task, format: SampleFormat, order: LoadOrder) =>
      order.isReducing && task.endpointNos.length >= halvedMin
        ? loadHalves(task, format, order)
        : load(task, format, order),
    /**
     * Returns how many endpoints fit into one statement. The number is estimated from some of the endpoints. Returns undefined if the task
     * has too few endpoints for an estimate.
     */
    async endpointsPerPart(task: Task, format: SampleFormat, order: LoadOrder): Promise<number | undefined> {
      const step = task.endpointNos.length / estimatedEndpoints
      if (step <= 1) return undefined
      if (format.sets.length === 0) return Number.POSITIVE_INFINITY
      const endpointNos = Array.from({ length: estimatedEndpoints }, (_, n) => task.endpointNos[Math.floor(n * step)]!)
      const counts = await store.countSamples(db.sql, { ...format, ...task, endpointNos })
      // The median is used, so that one large endpoint does not change the estimate for other endpoints. Endpoints without samples are not
      // among the counts.
      const sorted = counts.map(({ points }) => points).sort((a, b) => b - a)
      const samples = sorted[estimatedEndpoints / 2] ?? 0
      const limit = limitOf(format, { texts: firstTexts(order) }) * estimateMargin
      return Math.max(1, Math.floor(limit / samples))
    },
  }
}

/** Number of endpoints whose samples are counted for an estimate. */
const estimatedEndpoints = 8
/** Share of the limit that the estimate may use. The rest is for endpoints with more samples than estimated. */
const estimateMargin = 0.9

/** Tasks of a reduction with this many endpoints are loaded in two halves. For fewer, a second statement costs more than it saves. */
const halvedMin = 16

const isComplete = ({ loaded, remaining }: LoadedSamples) => loaded !== undefined && remaining.length === 0

/** Returns tasks that load a half later. If a part of the half was loaded, that part is dropped now, so the whole half is loaded again. */
const tasksFor = (half: Task, { loaded, remaining }: LoadedSamples) => (loaded ? [half] : remaining)

/** Splits a task with long texts. Returns undefined if the task must be split by time. */
function splitTexts(task: Task, { seriesFirst }: LoadOrder): Task[] | undefined {
  if (task.endpointNos.length > 1) return task.endpointNos.map((no) => ({ ...task, endpointNos: [no] }))
  if (seriesFirst && task.series.length > 1) return task.series.map((series) => ({ ...task, series: [series] }))
  return undefined
}

/** Splits a task with too many samples. Returns undefined if the task must be split by time. */
async function splitCut(
  { sql }: Db,
  task: Task,
  format: SampleFormat,
  { seriesFirst }: LoadOrder,
  limit: number,
): Promise<Task[] | undefined> {
  const { endpointNos, series } = task
  if (endpointNos.length === 1 && !(seriesFirst && series.length > 1)) return undefined
  const counts = new Map((await store.countSamples(sql, { ...format, ...task })).map((one) => [one.key, one.points]))
  if (endpointNos.length > 1) {
    const parts = groupBySize(endpointNos, (no) => counts.get(no) ?? 0, limit - 1)
    return Array.from(parts, (own) => ({ ...task, endpointNos: own }))
  }
  const count = counts.get(endpointNos[0]!) ?? limit
  const parts = groupBySize(series, () => count, series.length * (limit - 1))
  return Array.from(parts, (own) => ({ ...task, series: own }))
}

const isSingleTime = ({ from, to }: Span) => from === to

/**
 * Cuts the task before the last time that was read, because more samples may have that time. If nothing is before it, that time becomes a
 * task of its own.
 */
function cutAt(task: Task, { from, to }: Span, descending: boolean): { loaded: Task | undefined; remaining: Task[] } {
  const cutTime = descending ? from : to
  if (cutTime === (descending ? task.to : task.from)) {
    const rest = descending ? { ...task, to: cutTime - 1 } : { ...task, from: cutTime + 1 }
    return { loaded: undefined, remaining: [{ ...task, from: cutTime, to: cutTime }, rest] }
  }
  if (descending) return { loaded: { ...task, from: cutTime + 1 }, remaining: [{ ...task, to: cutTime }] }
  return { loaded: { ...task, to: cutTime - 1 }, remaining: [{ ...task, from: cutTime }] }
}
