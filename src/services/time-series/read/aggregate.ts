/** Points as one value for each part of time, while they are read: what a part ends with may go on in the next. */
import type { Span } from '../times.ts'
import { type Aggregate, inOrder, joined, pointsOfSums, type Sum, sumsOf } from './interval-sums.ts'
import type { Interval } from './intervals.ts'
import type { Piece } from './pieces.ts'

/** Pieces of the same endpoints and series, in the order of reading. */
export interface Changing {
  /** What became of it so far; `span`: all that was read with it. */
  add(piece: Piece, span: Span): Piece | undefined
  /** What is left when there is no more. */
  end(): Iterable<Piece>
}

interface Open {
  piece: Piece
  /** By the name of the value: the part of time that is not over. */
  sums: Map<string, Sum[]>
}

export function createAggregating(interval: Interval, wanted: Aggregate, descending: boolean): Changing {
  const open = new Map<string, Open>()

  /** The part of time that more points can come of. */
  function goesOn({ from, to }: Span): number | undefined {
    const start = interval.startOf(descending ? from : to)
    const isOver = descending ? start === from : interval.nextOf(start) === to + 1
    return isOver ? undefined : start
  }

  const asPiece = (piece: Piece, sums: Map<string, Sum[]>): Piece | undefined => {
    const columns = piece.series.values.flatMap(({ name }) => {
      const own = sums.get(name)
      return own && own.length > 0 ? { name, points: pointsOfSums(own, wanted) } : []
    })
    return columns.length > 0 ? { ...piece, columns } : undefined
  }

  return {
    add(piece, span) {
      const key = `${piece.endpointNo} ${piece.series.name}`
      const sums = open.get(key)?.sums ?? new Map<string, Sum[]>()
      for (const { name, points, sums: known = [] } of piece.columns)
        sums.set(name, joined(sums.get(name) ?? [], asSums(known, interval), sumsOf(points, interval)))
      const start = goesOn(span)
      const kept = new Map<string, Sum[]>()
      if (start !== undefined)
        for (const [name, own] of sums) {
          const last = own.filter((one) => one.start === start)
          if (last.length === 0) continue
          kept.set(name, last)
          sums.set(
            name,
            own.filter((one) => one.start !== start),
          )
        }
      if (kept.size > 0) open.set(key, { piece, sums: kept })
      else open.delete(key)
      return asPiece(piece, sums)
    },
    *end() {
      for (const { piece, sums } of open.values()) {
        const last = asPiece(piece, sums)
        if (last) yield last
      }
      open.clear()
    },
  }
}

/** What is known of whole chunks, each of which lies within one part of time. */
const asSums = (known: Sum[], interval: Interval): Sum[] =>
  inOrder(known.map((one) => ({ ...one, start: interval.startOf(one.start) })))
