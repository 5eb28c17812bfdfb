import type { Value } from './pack/chunk.ts'
import type { SeriesSet } from './store/names.ts'
import type { Origin, Rows } from './write/rows.ts'

/** One row, or several where the values of a sample are in several sets. */
export function addSample(
  rows: Rows,
  sets: SeriesSet[],
  sample: { endpointNo: number; at: number; written: number; values: Value[] },
  origin: Origin,
) {
  const { endpointNo, at, written, values } = sample
  if (sets.length === 1) return rows.add(endpointNo, at, written, sets[0]!, values, origin)
  let from = 0
  for (const set of sets) {
    const to = from + set.seriesIds.length
    rows.add(endpointNo, at, written, set, values.slice(from, to), origin)
    from = to
  }
}
