/** The last points of each series of each endpoint, the newest first. */

import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Retention } from '../delete/retention.ts'
import type { KeptSince } from '../delete/retention-limits.ts'
import { dayMs } from '../pack/chunk-builder.ts'
import type { NumberedEndpoint } from '../store/numbers.ts'
import { timeMax, timeMin } from '../times.ts'
import type { LatestValues } from '../write/latest-values.ts'
import type { AskedSeries } from './asked-series.ts'
import { putPoints, type Rows, rowAt, rowsOf } from './point-json.ts'
import type { Reader } from './reader.ts'
import { heldAnswer } from './response-limit.ts'
import { createTextBuffer, take } from './text-buffer.ts'
import type { Asked, VisibleSeries } from './visible-series.ts'

export interface LastQuestion extends Asked {
  /** The last time that counts; undefined: all do. */
  until: number | undefined
  offset: number
  limit: number
}

export interface LastQuery {
  /** Whoever may not read learns so at once; the text comes as it is asked for. */
  read(ctx: Ctx, question: LastQuestion): Promise<AsyncIterable<Buffer>>
}

/** Points that are kept in memory until they are answered with, about. */
const pointsAtOnce = 100_000

export function createLastQuery(deps: {
  visible: VisibleSeries
  reader: Reader
  latest: LatestValues
  retention: Pick<Retention, 'keptSince'>
  answers: ConcurrencyLimit
}): LastQuery {
  const { visible, reader, latest, retention, answers } = deps

  async function newestOf(page: NumberedEndpoint[], series: AskedSeries[], keptSince: KeptSince): Promise<Texts> {
    const found = await latest.of(page.map(({ endpointNo }) => endpointNo))
    const named = new Map(
      series.flatMap(({ name, values }) => {
        const since = keptSince(name)
        return values.map((one) => [one.seriesId, { name, key: `${JSON.stringify(one.name)}:`, since }] as const)
      }),
    )
    const texts: Texts = new Map()
    for (const [endpointNo, values] of found) {
      const newest = new Map<string, { timestamp: number; text: string }>()
      for (const { seriesId, timestamp, value } of values) {
        const of = named.get(seriesId)
        if (!of || timestamp < of.since) continue
        const known = newest.get(of.name)
        if (known && known.timestamp > timestamp) continue
        const text = of.key + (typeof value === 'number' ? String(value) : JSON.stringify(value))
        if (known?.timestamp === timestamp) known.text += `,${text}`
        else newest.set(of.name, { timestamp, text })
      }
      const own = new Map<string, string>()
      for (const [name, { timestamp, text }] of newest) own.set(name, pointText(timestamp, text))
      texts.set(endpointNo, own)
    }
    return texts
  }

  return {
    async read(ctx, question) {
      const { endpoints, series } = await visible.of(ctx, question)
      const { offset, limit, until, applicationName } = question
      // The table of the newest values, and samples that came late, may hold what the retention does not allow any more.
      const keptSince = await retention.keptSince({ tenantId: ctx.tenantId, applicationName })
      const isNewest = offset === 0 && limit === 1 && until === undefined
      const find = (page: NumberedEndpoint[], some: AskedSeries[]) =>
        isNewest ? newestOf(page, some, keptSince) : lookBack({ reader, latest, keptSince }, ctx, question, page, some)
      return heldAnswer(answers, ctx, objectOf(endpoints, series, limit, find))
    },
  }
}

const pointText = (timestamp: number, values: string) =>
  `{"timestamp":"${new Date(timestamp).toISOString()}","values":{${values}}}`

/** By endpoint and name of the series: points with commas between. */
type Texts = Map<number, Map<string, string>>

async function* objectOf(
  pages: AsyncIterable<NumberedEndpoint[]>,
  series: AskedSeries[],
  limit: number,
  find: (page: NumberedEndpoint[], series: AskedSeries[]) => Promise<Texts>,
): AsyncGenerator<Buffer> {
  const seriesAtOnce = Math.max(1, Math.floor(pointsAtOnce / limit))
  const endpointsAtOnce = Math.max(1, Math.floor(seriesAtOnce / Math.max(1, series.length)))
  let separator = '{'
  for await (const page of pages)
    for (const some of portions(page, endpointsAtOnce)) {
      let open: number | undefined
      // More than one portion of series only where there is one endpoint.
      for (const own of portions(series, seriesAtOnce)) {
        const keyed = own.map(({ name }) => ({ name, key: `${JSON.stringify(name)}:` }))
        const found = await find(some, own)
        let text = ''
        for (const { endpointNo, endpointId } of some) {
          const texts = found.get(endpointNo)
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

interface Collecting {
  /** Newer ones that are still to be passed over. */
  skip: number
  left: number
  texts: string[]
}

/**
 * Backwards in windows of time, each twice as long as the one before, until there are enough: those who have enough, and the
 * series of which there are, are not asked for any more.
 */
async function lookBack(
  { reader, latest, keptSince }: { reader: Reader; latest: LatestValues; keptSince: KeptSince },
  { tenantId }: Ctx,
  { applicationName, until = timeMax, offset, limit }: LastQuestion,
  page: NumberedEndpoint[],
  series: AskedSeries[],
): Promise<Texts> {
  const oldest = Math.max(timeMin, Math.min(...series.map(({ name }) => keptSince(name))))
  if (until < oldest) return new Map()
  const newest = await latest.of(page.map(({ endpointNo }) => endpointNo))
  const found = new Map<number, Map<string, Collecting>>()
  const collectingOf = (endpointNo: number, name: string): Collecting => {
    const own = found.get(endpointNo) ?? new Map<string, Collecting>()
    const known = own.get(name) ?? { skip: offset, left: limit, texts: [] }
    found.set(endpointNo, own.set(name, known))
    return known
  }
  const nameOf = new Map(series.flatMap(({ name, values }) => values.map(({ seriesId }) => [seriesId, name])))
  for (const [endpointNo, values] of newest)
    for (const { seriesId } of values) if (nameOf.has(seriesId)) collectingOf(endpointNo, nameOf.get(seriesId)!)
  /** What nobody knows of it need not be looked for. */
  const lacks = (endpointNo: number, name: string) => (found.get(endpointNo)?.get(name)?.left ?? 0) > 0
  const text = createTextBuffer(8192)

  let to = until
  let from = Math.max(oldest, firstDay(newest, until))
  for (let days = 1; ; days *= 2) {
    // At first all of it: another process may have stored something that is not known here yet.
    const all = [{ endpointNos: page.map(({ endpointNo }) => endpointNo), series }]
    for (const part of days === 1 ? all : lacking(page, series, lacks)) {
      const question = { tenantId, applicationName, ...part, from, to, descending: true, ahead: false }
      for await (const { pieces } of reader.read(question)) {
        for (const {
          endpointNo,
          series: { name },
          columns,
        } of pieces) {
          const own = collectingOf(endpointNo, name)
          const rows = keptOf(rowsOf(columns, true), keptSince(name))
          const first = Math.min(own.skip, rows.count)
          const count = Math.min(rows.count, first + own.left)
          own.skip -= first
          own.left -= count - first
          if (count === first) continue
          putPoints(text, { ...rows, count }, first, Number.POSITIVE_INFINITY)
          own.texts.push(take(text).toString())
        }
        if (part.endpointNos.every((no) => part.series.every(({ name }) => !lacks(no, name)))) break
      }
    }
    if (from <= oldest || lacking(page, series, lacks).length === 0) break
    to = from - 1
    from = Math.max(oldest, from - days * dayMs)
  }
  return new Map(
    [...found].map(([endpointNo, own]) => {
      const texts = [...own].filter(([, one]) => one.texts.length > 0)
      return [endpointNo, new Map(texts.map(([name, one]) => [name, one.texts.join()]))]
    }),
  )
}

/** The newest first, without those before. */
function keptOf(rows: Rows, since: number): Rows {
  let { count } = rows
  while (count > 0 && rows.times[rowAt(rows, count - 1)]! < since) count--
  return { ...rows, count }
}

/** Since when to look first: the day of the newest points that count. */
function firstDay(newest: Awaited<ReturnType<LatestValues['of']>>, until: number): number {
  let last = timeMin
  for (const values of newest.values())
    for (const { timestamp } of values) if (timestamp > last && timestamp <= until) last = timestamp
  // All that is known is newer: the last day that counts is as good as any. Nothing is known: then there is hardly anything.
  const start = last === timeMin && newest.size > 0 ? until : last
  return Math.max(timeMin, Math.floor(start / dayMs) * dayMs)
}

/** Endpoints that lack the same series together: nobody's points are read because another lacks them. */
function lacking(
  page: NumberedEndpoint[],
  series: AskedSeries[],
  lacks: (endpointNo: number, name: string) => boolean,
) {
  const parts = new Map<string, { endpointNos: number[]; series: AskedSeries[] }>()
  for (const { endpointNo } of page) {
    const own = series.filter(({ name }) => lacks(endpointNo, name))
    if (own.length === 0) continue
    const key = own.length === series.length ? '' : own.map(({ name }) => name).join('\n')
    const part = parts.get(key)
    if (part) part.endpointNos.push(endpointNo)
    else parts.set(key, { endpointNos: [endpointNo], series: own })
  }
  return [...parts.values()]
}
