/** Loads the samples of a task that are not packed yet. If there are too many, returns smaller tasks instead. */
import type { Db } from '../../../kernel/db.ts'
import * as store from '../store/reading.ts'
import type { Span } from '../times.ts'
import { countOf, rangeOf, type SampleFormat, type SamplePoints, samplePoints } from './sample-points.ts'
import { groupBySize, type Task } from './split-query.ts'

export interface LoadedSamples {
  /** The part of the task that was loaded; undefined means nothing. */
  loaded?: Task
  points: SamplePoints
  remaining: Task[]
}

interface LoadOrder {
  descending: boolean
  /** A task with too many samples is split by series before it is split by time. */
  seriesFirst: boolean
}

interface LoadOptions {
  inOrder: boolean
  withOrder: boolean
  withLong: boolean
  /** Maximum number of samples, if it is less than the default. */
  limit?: number
}

const cheapest: LoadOptions = { inOrder: false, withOrder: false, withLong: false }

/** Limits of one statement. */
export interface SampleLimits {
  values: number
  textBytes: number
}

export function createSampleLoader(db: Db, { values: valuesMax, textBytes: textBytesMax }: SampleLimits) {
  const limitOf = ({ width }: SampleFormat) => Math.max(1, Math.floor(valuesMax / width)) + 1

  function find(task: Task, format: SampleFormat, { descending }: LoadOrder, options: LoadOptions) {
    const part = { ...format, ...task }
    if (isSingleTime(task)) return store.findSamplesAt(db.sql, part)
    const statementOptions = { limit: limitOf(format), ...options, descending }
    if (options.inOrder) return db.tx((sql) => store.findFirstSamples(sql, part, statementOptions))
    return store.findSamples(db.sql, part, statementOptions)
  }

  /** Loads with the cheapest statement, and again with a costlier one if the rows require it. */
  return async function load(
    task: Task,
    format: SampleFormat,
    order: LoadOrder,
    options = cheapest,
  ): Promise<LoadedSamples> {
    const none: LoadedSamples = { loaded: task, points: new Map(), remaining: [] }
    if (format.sets.length === 0) return none
    const rows = await find(task, format, order, options)
    if (!rows) return none
    const reload = (changes: Partial<LoadOptions>) => load(task, format, order, { ...options, ...changes })
    if (rows.longBytes > textBytesMax) {
      if (task.endpointNos.length > 1)
        return { points: new Map(), remaining: task.endpointNos.map((no) => ({ ...task, endpointNos: [no] })) }
      if (order.seriesFirst && task.series.length > 1)
        return { points: new Map(), remaining: task.series.map((series) => ({ ...task, series: [series] })) }
      const limit = Math.max(2, Math.floor((countOf(rows) * textBytesMax) / rows.longBytes))
      return await reload({ inOrder: true, limit })
    }
    if (rows.longBytes > 0) return await reload({ withLong: true })
    const limit = options.limit ?? limitOf(format)
    const isCut = !isSingleTime(task) && countOf(rows) >= limit
    if (isCut && task.endpointNos.length > 1) {
      const counts = new Map(
        (await store.countSamples(db.sql, { ...format, ...task })).map((one) => [one.key, one.points]),
      )
      const parts = groupBySize(task.endpointNos, (no) => counts.get(no) ?? 0, limit - 1)
      return { points: new Map(), remaining: Array.from(parts, (endpointNos) => ({ ...task, endpointNos })) }
    }
    if (isCut && order.seriesFirst && task.series.length > 1) {
      const [count] = await store.countSamples(db.sql, { ...format, ...task })
      const parts = groupBySize(task.series, () => count?.points ?? limit, task.series.length * (limit - 1))
      return { points: new Map(), remaining: Array.from(parts, (series) => ({ ...task, series })) }
    }
    if (isCut && !options.inOrder) return await reload({ inOrder: true })
    const { loaded, remaining } = isCut ? cutAt(task, rangeOf(rows), order.descending) : { loaded: task, remaining: [] }
    if (!loaded) return { points: new Map(), remaining }
    const points = samplePoints(rows, format, loaded)
    return points ? { loaded, points, remaining } : await reload({ withOrder: true })
  }
}

const isSingleTime = ({ from, to }: Span) => from === to

/**
 * Cuts the task before the last time that was read, since that time may have more samples. If nothing is before it,
 * that time becomes a task of its own.
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
