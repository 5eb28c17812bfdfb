/**
 * Points of endpoints, piece by piece: whatever there is of them, one part of it is in memory, and the next on its way. Samples
 * are asked for before chunks: what is packed in between is seen twice, which merges, and never missed.
 */

import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Db } from '../../../kernel/db.ts'
import { dayOf } from '../pack/chunk-builder.ts'
import * as store from '../store/reading.ts'
import type { Span } from '../times.ts'
import { type AskedSeries, idsOf } from './asked-series.ts'
import type { Interval } from './intervals.ts'
import { createHotLoading } from './load-samples.ts'
import { type Loaded, type Piece, piecesOf } from './pieces.ts'
import { type HotFormat, type HotPoints, hotFormat } from './sample-points.ts'
import { plan, type Task } from './split-query.ts'

export interface Question extends Span {
  tenantId: string
  applicationName: string
  endpointNos: number[]
  series: AskedSeries[]
  descending: boolean
  /** Whether the next part is read while this one is used: for whoever will want all of it. */
  ahead: boolean
  /**
   * For whoever makes less of it: the parts are larger, and all parts of an endpoint and its series come before those of the
   * next. `sums`: of chunks that need not be unpacked for them only sums are read.
   */
  reducing?: 'points' | 'sums'
  /** Whose sums are wanted, and nothing else of its points. */
  summing?: Interval
}

/** What was read together: `endpointNos` and `series` are the very same lists as long as there is more of them. */
export type Part = Task & { pieces: Iterable<Piece> }

export interface Reader {
  /**
   * In parts: no endpoint has a series twice in one, and what comes of it in a later part is later (descending: earlier). The
   * points of a part are unpacked as they are asked for.
   */
  read(question: Question): AsyncGenerator<Part>
}

export interface ReaderLimits {
  /** Packed points that are read at once, about. */
  points: number
  /** Values of samples that are read at once, about. */
  hotValues: number
  /** Bytes of their texts. */
  hotTextBytes?: number
}

/** Packed points of a part take a few bytes each, and are unpacked one series at a time. */
const reducedTimes = 5

const usual: ReaderLimits = { points: 120_000, hotValues: 120_000 }
const hotTextBytesUsually = 16_000_000

export function createReader({
  db,
  turns,
  limits = usual,
}: {
  db: Db
  turns: ConcurrencyLimit
  limits?: ReaderLimits
}): Reader {
  const { hotValues: values, hotTextBytes: textBytes = hotTextBytesUsually } = limits
  const loadHot = createHotLoading(db, { values, textBytes })

  /** Undefined when it was too much: then `rest` is in smaller parts. */
  async function load(
    task: Task,
    format: HotFormat,
    { descending, reducing }: Question,
  ): Promise<{ loaded: Loaded | undefined; rest: Task[] }> {
    const { now, points: hot, later: rest } = await loadHot(task, format, descending)
    if (!now) return { loaded: undefined, rest }
    const { endpointNos, series, from, to } = now
    const part = { endpointNos, seriesIds: idsOf(series), from, to }
    const chunks = await (reducing === 'sums'
      ? store.findPackedSums(db.sql, part, daysOf(hot))
      : store.findPacked(db.sql, part))
    const packed: Loaded['packed'] = new Map()
    for (const { endpointNo, seriesId, ...one } of chunks) {
      const own = packed.get(endpointNo)
      if (own) own.set(seriesId, one)
      else packed.set(endpointNo, new Map([[seriesId, one]]))
    }
    return { loaded: { task: now, hot, packed }, rest }
  }

  return {
    async *read(question) {
      const { tenantId, descending } = question
      const sets = await store.findSetsWith(db.sql, question, idsOf(question.series))
      const pointsMax = limits.points * (question.reducing ? reducedTimes : 1)
      const tasks = plan(db.sql, question, { descending, pointsMax, seriesFirst: question.reducing !== undefined })
      const first: Task[] = []
      const formatOf = lastRemembered((series: AskedSeries[]) => hotFormat(sets, idsOf(series)))

      const next = () =>
        turns.run(tenantId, async () => {
          for (;;) {
            const task = first.shift() ?? (await tasks.next()).value
            if (!task) return undefined
            const { loaded, rest } = await load(task, formatOf(task.series), question)
            first.unshift(...rest)
            if (loaded) return loaded
          }
        })

      let coming = next()
      try {
        for (;;) {
          const loaded = await coming
          if (!loaded) return
          if (question.ahead) {
            coming = next()
            coming.catch(() => {})
          }
          yield { ...loaded.task, pieces: piecesOf(loaded, question.summing) }
          if (!question.ahead) coming = next()
        }
      } finally {
        await coming.catch(() => {})
      }
    },
  }
}

function daysOf(hot: HotPoints): number[] {
  const days = new Set<number>()
  for (const ofEndpoint of hot.values())
    for (const { count, times } of ofEndpoint.values())
      for (let index = 0; index < count; index++) days.add(dayOf(times[index]!))
  return [...days]
}

function lastRemembered<K, V>(make: (key: K) => V): (key: K) => V {
  let known: { key: K; value: V } | undefined
  return (key) => {
    if (known?.key !== key) known = { key, value: make(key) }
    return known.value
  }
}
