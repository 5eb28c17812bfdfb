/** Queries the last points for each endpoint and series, newest first. */

import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { timeMax, timeMin } from '../../../kernel/times.ts'
import type { Retention } from '../delete/retention.ts'
import type { KeptSince } from '../delete/retention-limits.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import type { NumberedEndpoint } from '../store/numbers.ts'
import type { LatestValues } from '../write/latest-values.ts'
import { type AlignedRows, putPoints, rowAt, rowsOf } from './point-json.ts'
import type { Reader } from './reader.ts'
import { limitedResponse } from './response-limit.ts'
import type { SelectedSeries } from './selected-series.ts'
import { createTextBuffer, takeText } from './text-buffer.ts'
import type { SeriesFilter, VisibleSeries } from './visible-series.ts'

export interface LastRequest extends SeriesFilter {
  /** Latest time of a point; undefined means no limit. */
  until: number | undefined
  offset: number
  limit: number
}

export interface LastQuery {
  /** Checks permissions immediately, then reads only as fast as the response is consumed. */
  read(ctx: Ctx, request: LastRequest): Promise<AsyncIterable<Buffer>>
}

/** Approximate maximum number of points in memory. */
const pointsInMemoryMax = 100_000

export function createLastQuery(deps: {
  visible: VisibleSeries
  reader: Reader
  latest: LatestValues
  retention: Pick<Retention, 'keptSince'>
  responses: ConcurrencyLimit
}): LastQuery {
  const { visible, reader, latest, retention, responses } = deps

  async function newestOf(page: NumberedEndpoint[], series: SelectedSeries[], keptSince: KeptSince): Promise<Texts> {
    const latestByEndpoint = await latest.read(page.map(({ endpointNo }) => endpointNo))
    const selectedById = new Map(
      series.flatMap(({ name, values }) => {
        const since = keptSince(name)
        return values.map((one) => [one.seriesId, { name, key: `${JSON.stringify(one.name)}:`, since }] as const)
      }),
    )
    const texts: Texts = new Map()
    for (const [endpointNo, values] of latestByEndpoint) {
      const newest = new Map<string, { timestamp: number; text: string }>()
      for (const { seriesId, timestamp, value } of values) {
        const selected = selectedById.get(seriesId)
        if (!selected || timestamp < selected.since) continue
        const newestPoint = newest.get(selected.name)
        if (newestPoint && newestPoint.timestamp > timestamp) continue
        const text = selected.key + (typeof value === 'number' ? String(value) : JSON.stringify(value))
        if (newestPoint?.timestamp === timestamp) newestPoint.text += `,${text}`
        else newest.set(selected.name, { timestamp, text })
      }
      const textsBySeries = new Map<string, string>()
      for (const [name, { timestamp, text }] of newest) textsBySeries.set(name, pointText(timestamp, text))
      texts.set(endpointNo, textsBySeries)
    }
    return texts
  }

  return {
    async read(ctx, request) {
      const { endpoints, series } = await visible.select(ctx, request)
      const { offset, limit, until, applicationName } = request
      // The table of latest values, and samples that arrived late, may contain points that the retention excludes.
      const keptSince = await retention.keptSince({ tenantId: ctx.tenantId, applicationName })
      const isNewest = offset === 0 && limit === 1 && until === undefined
      const find = (page: NumberedEndpoint[], some: SelectedSeries[]) =>
        isNewest
          ? newestOf(page, some, keptSince)
          : readBackwards({ reader, latest, keptSince }, ctx, request, page, some)
      return limitedResponse(responses, ctx, responseOf(endpoints, series, limit, find))
    },
  }
}

const pointText = (timestamp: number, values: string) =>
  `{"timestamp":"${new Date(timestamp).toISOString()}","values":{${values}}}`

/** Points by endpoint number and series name, as JSON separated by commas. */
type Texts = Map<number, Map<string, string>>

async function* responseOf(
  pages: AsyncIterable<NumberedEndpoint[]>,
  series: SelectedSeries[],
  limit: number,
  find: (page: NumberedEndpoint[], series: SelectedSeries[]) => Promise<Texts>,
): AsyncGenerator<Buffer> {
  const seriesPerPortion = Math.max(1, Math.floor(pointsInMemoryMax / limit))
  const endpointsPerPortion = Math.max(1, Math.floor(seriesPerPortion / Math.max(1, series.length)))
  let separator = '{'
  for await (const page of pages)
    for (const endpoints of portions(page, endpointsPerPortion)) {
      let open: number | undefined
      // Series are divided into several portions only if there is a single endpoint.
      for (const seriesPortion of portions(series, seriesPerPortion)) {
        const keyed = seriesPortion.map(({ name }) => ({ name, key: `${JSON.stringify(name)}:` }))
        const textsByEndpoint = await find(endpoints, seriesPortion)
        let text = ''
        for (const { endpointNo, endpointId } of endpoints) {
          const texts = textsByEndpoint.get(endpointNo)
          if (!texts || texts.size === 0) continue
          text += open === endpointNo ? ',' : `${separator}${JSON.stringify(endpointId)}:{`
          open = endpointNo
          let comma = ''
          for (const { key, name } of keyed) {
            const points = texts.get(name)
            if (points === undefined) continue
            text += `${comma}${key}[${points}]`
            comma = ','
          }
          separator = '},'
        }
        if (text !== '') yield Buffer.from(text)
      }
    }
  yield Buffer.from(separator === '{' ? '{}' : '}}')
}

function* portions<T>(all: T[], size: number): Generator<T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size)
}

interface CollectedPoints {
  /** Number of newer points that are still to be skipped. */
  skip: number
  remaining: number
  texts: string[]
}

/**
 * Reads backwards in windows that double in length, until each series has enough points. Complete series, and series without any points,
 * are not read again.
 */
async function readBackwards(
  { reader, latest, keptSince }: { reader: Reader; latest: LatestValues; keptSince: KeptSince },
  { tenantId }: Ctx,
  { applicationName, until = timeMax, offset, limit }: LastRequest,
  page: NumberedEndpoint[],
  series: SelectedSeries[],
): Promise<Texts> {
  const oldest = Math.max(timeMin, Math.min(...series.map(({ name }) => keptSince(name))))
  if (until < oldest) return new Map()
  const newest = await latest.read(page.map(({ endpointNo }) => endpointNo))
  const collected = new Map<number, Map<string, CollectedPoints>>()
  const collectedOf = (endpointNo: number, name: string): CollectedPoints => {
    const bySeries = collected.get(endpointNo) ?? new Map<string, CollectedPoints>()
    const points = bySeries.get(name) ?? { skip: offset, remaining: limit, texts: [] }
    collected.set(endpointNo, bySeries.set(name, points))
    return points
  }
  const nameOf = new Map(series.flatMap(({ name, values }) => values.map(({ seriesId }) => [seriesId, name])))
  for (const [endpointNo, values] of newest)
    for (const { seriesId } of values) if (nameOf.has(seriesId)) collectedOf(endpointNo, nameOf.get(seriesId)!)
  /** Returns whether a series needs more points. A series without a latest value has no points. */
  const needsMore = (endpointNo: number, name: string) => (collected.get(endpointNo)?.get(name)?.remaining ?? 0) > 0
  const text = createTextBuffer(8192)

  let to = until
  let from = Math.max(oldest, firstDay(newest, until))
  for (let days = 1; ; days *= 2) {
    // The first window includes all series, because another node may have stored points that are not in the memory of this node.
    const all = [{ endpointNos: page.map(({ endpointNo }) => endpointNo), series }]
    for (const part of days === 1 ? all : incompleteGroups(page, series, needsMore)) {
      const window = { tenantId, applicationName, ...part, from, to, descending: true, prefetch: false }
      for await (const { fragments } of reader.read(window)) {
        for (const {
          endpointNo,
          series: { name },
          columns,
        } of fragments) {
          const points = collectedOf(endpointNo, name)
          const rows = cutBefore(rowsOf(columns, true), keptSince(name))
          const first = Math.min(points.skip, rows.count)
          const count = Math.min(rows.count, first + points.remaining)
          points.skip -= first
          points.remaining -= count - first
          if (count === first) continue
          putPoints(text, { ...rows, count }, first, Number.POSITIVE_INFINITY)
          points.texts.push(takeText(text).toString())
        }
        if (part.endpointNos.every((no) => part.series.every(({ name }) => !needsMore(no, name)))) break
      }
    }
    if (from <= oldest || incompleteGroups(page, series, needsMore).length === 0) break
    to = from - 1
    from = Math.max(oldest, from - days * dayMs)
  }
  return new Map(
    [...collected].map(([endpointNo, own]) => {
      const texts = [...own].filter(([, one]) => one.texts.length > 0)
      return [endpointNo, new Map(texts.map(([name, one]) => [name, one.texts.join()]))]
    }),
  )
}

/** Removes points older than `since` from rows that are ordered from newest to oldest. */
function cutBefore(rows: AlignedRows, since: number): AlignedRows {
  let { count } = rows
  while (count > 0 && rows.times[rowAt(rows, count - 1)]! < since) count--
  return { ...rows, count }
}

/** Returns the start of the first window: the day of the newest known point. */
function firstDay(newest: Awaited<ReturnType<LatestValues['read']>>, until: number): number {
  let last = timeMin
  for (const values of newest.values())
    for (const { timestamp } of values) if (timestamp > last && timestamp <= until) last = timestamp
  // If all known points are newer than `until`, the day of `until` is the best guess.
  const start = last === timeMin && newest.size > 0 ? until : last
  return Math.max(timeMin, Math.floor(start / dayMs) * dayMs)
}

/** Groups endpoints that need more points of the same series, so that no other points are read. */
function incompleteGroups(
  page: NumberedEndpoint[],
  series: SelectedSeries[],
  needsMore: (endpointNo: number, name: string) => boolean,
) {
  const parts = new Map<string, { endpointNos: number[]; series: SelectedSeries[] }>()
  for (const { endpointNo } of page) {
    const incomplete = series.filter(({ name }) => needsMore(endpointNo, name))
    if (incomplete.length === 0) continue
    const key = incomplete.length === series.length ? '' : incomplete.map(({ name }) => name).join('\n')
    const part = parts.get(key)
    if (part) part.endpointNos.push(endpointNo)
    else parts.set(key, { endpointNos: [endpointNo], series: incomplete })
  }
  return [...parts.values()]
}
