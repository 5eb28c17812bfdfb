/** Historical points: as they are, by parts of time, or fewer of them. */

import type { ConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Span } from '../times.ts'
import { type Changing, createAggregating } from './aggregate.ts'
import { csvOf } from './data-csv.ts'
import { type IdentifiedPart, jsonOf } from './data-json.ts'
import { createFewer } from './downsample.ts'
import type { Aggregate } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import type { Piece } from './pieces.ts'
import type { Part, Question, Reader } from './reader.ts'
import { heldAnswer } from './response-limit.ts'
import type { Asked, Visible, VisibleSeries } from './visible-series.ts'

/** What is to be made of the points. */
export type Reduction = { aggregate: Aggregate; interval: Interval } | { points: number }

export interface DataQuestion extends Asked {
  span: Span
  descending: boolean
  reduction: Reduction | undefined
  format: 'json' | 'csv'
}

export interface DataQuery {
  /** Whoever may not read learns so at once; the text comes as it is asked for. */
  read(ctx: Ctx, question: DataQuestion): Promise<AsyncIterable<Buffer>>
}

export function createDataQuery(deps: {
  visible: VisibleSeries
  reader: Reader
  answers: ConcurrencyLimit
}): DataQuery {
  const { visible, reader, answers } = deps

  async function* partsOf(ctx: Ctx, { endpoints, series }: Visible, question: DataQuestion) {
    const { applicationName, span, descending, reduction } = question
    if (series.length === 0) return
    for await (const page of endpoints) {
      const idOf = new Map(page.map(({ endpointNo, endpointId }) => [endpointNo, endpointId]))
      const of = { tenantId: ctx.tenantId, applicationName, endpointNos: [...idOf.keys()], series }
      const parts = reader.read({ ...of, ...span, descending, ahead: true, ...readingFor(reduction) })
      for await (const pieces of reduction ? changed(parts, changingFor(reduction, question)) : piecesOf(parts))
        yield { pieces, idOf: (endpointNo: number) => idOf.get(endpointNo)! } satisfies IdentifiedPart
    }
  }

  return {
    async read(ctx, question) {
      const found = await visible.of(ctx, question)
      const parts = partsOf(ctx, found, question)
      const { format, descending } = question
      const pieces = format === 'csv' ? csvOf(parts, found.series, descending) : jsonOf(parts, descending)
      return heldAnswer(answers, ctx, pieces)
    },
  }
}

async function* piecesOf(parts: AsyncIterable<Part>) {
  for await (const { pieces } of parts) yield pieces
}

/** Until the lists are others, there may be more of the same. */
async function* changed(parts: AsyncIterable<Part>, changing: Changing): AsyncGenerator<Iterable<Piece>> {
  let before: Part | undefined
  for await (const part of parts) {
    if (before && (before.endpointNos !== part.endpointNos || before.series !== part.series)) yield changing.end()
    before = part
    yield changedPieces(part, changing)
  }
  yield changing.end()
}

function* changedPieces({ pieces, from, to }: Part, changing: Changing) {
  for (const piece of pieces) {
    const made = changing.add(piece, { from, to })
    if (made) yield made
  }
}

function readingFor(reduction: Reduction | undefined): Partial<Pick<Question, 'reducing' | 'summing' | 'descending'>> {
  if (!reduction) return {}
  // All of them come at the end, in whatever order is asked for.
  if ('points' in reduction) return { reducing: 'points', descending: false }
  const { aggregate, interval } = reduction
  if (aggregate === 'first' || aggregate === 'last') return { reducing: 'points' }
  return { reducing: interval.isOfDays ? 'sums' : 'points', summing: interval }
}

function changingFor(reduction: Reduction, { span, descending }: DataQuestion): Changing {
  if ('points' in reduction) return createFewer(span, reduction.points)
  return createAggregating(reduction.interval, reduction.aggregate, descending)
}
