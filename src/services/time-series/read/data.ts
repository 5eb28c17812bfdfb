/** Queries historical points: all points, points aggregated by interval, or downsampled points. */

import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Span } from '../times.ts'
import { createAggregator, type Reducer } from './aggregate.ts'
import { csvOf } from './data-csv.ts'
import { type IdentifiedPart, jsonOf } from './data-json.ts'
import { createDownsampler } from './downsample.ts'
import type { Aggregate } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import type { Part, Reader, ReadRequest } from './reader.ts'
import { limitedResponse } from './response-limit.ts'
import type { SeriesFragment } from './series-fragments.ts'
import type { SelectedData, SeriesFilter, VisibleSeries } from './visible-series.ts'

/** The reduction of the number of points: by aggregation, or to a maximum number of points. */
export type Reduction = { aggregate: Aggregate; interval: Interval } | { points: number }

export interface DataRequest extends SeriesFilter {
  span: Span
  descending: boolean
  reduction: Reduction | undefined
  format: 'json' | 'csv'
}

export interface DataQuery {
  /** Reads the points of selected endpoints and series. It reads only as fast as the points are consumed. */
  parts(ctx: Ctx, selected: SelectedData, request: Omit<DataRequest, 'format'>): AsyncIterable<IdentifiedPart>
  /** Checks permissions immediately, then reads only as fast as the response is consumed. */
  read(ctx: Ctx, request: DataRequest): Promise<AsyncIterable<Buffer>>
}

export function createDataQuery(deps: {
  visible: VisibleSeries
  reader: Reader
  responses: ConcurrencyLimit
}): DataQuery {
  const { visible, reader, responses } = deps

  async function* partsOf(ctx: Ctx, { endpoints, series }: SelectedData, request: Omit<DataRequest, 'format'>) {
    const { applicationName, span, descending, reduction } = request
    if (series.length === 0) return
    for await (const page of endpoints) {
      const idOf = new Map(page.map(({ endpointNo, endpointId }) => [endpointNo, endpointId]))
      const query = { tenantId: ctx.tenantId, applicationName, endpointNos: [...idOf.keys()], series }
      const parts = reader.read({
        ...query,
        ...span,
        descending,
        prefetch: true,
        seriesFirst: true,
        ...readingFor(reduction),
      })
      for await (const fragments of reduction
        ? reducedParts(parts, span, reducerFor(reduction, request))
        : fragmentsOfParts(parts))
        yield { fragments, idOf: (endpointNo: number) => idOf.get(endpointNo)! } satisfies IdentifiedPart
    }
  }

  return {
    parts: partsOf,
    async read(ctx, request) {
      const selected = await visible.select(ctx, request)
      const parts = partsOf(ctx, selected, request)
      const { format, descending } = request
      const buffers = format === 'csv' ? csvOf(parts, selected.series, descending) : jsonOf(parts, descending)
      return limitedResponse(responses, ctx, buffers)
    },
  }
}

async function* fragmentsOfParts(parts: AsyncIterable<Part>) {
  for await (const { fragments } of parts) yield fragments
}

/** Reduces parts. A part with the same `endpointNos` and `series` objects as the previous part continues the series of that part. */
async function* reducedParts(
  parts: AsyncIterable<Part>,
  span: Span,
  reducer: Reducer,
): AsyncGenerator<Iterable<SeriesFragment>> {
  let before: Part | undefined
  for await (const part of parts) {
    if (before && (before.endpointNos !== part.endpointNos || before.series !== part.series)) yield reducer.end()
    before = part
    yield reducedFragments(part, span, reducer)
  }
  yield reducer.end()
}

function* reducedFragments({ fragments, from, to }: Part, whole: Span, reducer: Reducer) {
  const isLast = from === whole.from && to === whole.to
  for (const fragment of fragments) {
    const reduced = reducer.add(fragment, { from, to, isLast })
    if (reduced) yield reduced
  }
}

function readingFor(
  reduction: Reduction | undefined,
): Partial<Pick<ReadRequest, 'reducing' | 'summing' | 'descending'>> {
  if (!reduction) return {}
  // Downsampled points are returned at the end, in the requested order.
  if ('points' in reduction) return { reducing: 'points', descending: false }
  const { aggregate, interval } = reduction
  if (aggregate === 'first' || aggregate === 'last') return { reducing: 'points' }
  return { reducing: interval.isOfDays ? 'sums' : 'points', summing: interval }
}

function reducerFor(reduction: Reduction, { span, descending }: Pick<DataRequest, 'span' | 'descending'>): Reducer {
  if ('points' in reduction) return createDownsampler(span, reduction.points)
  return createAggregator(reduction.interval, reduction.aggregate, descending)
}
