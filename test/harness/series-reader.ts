/**
 * Reference reader of time series: merges the unpacked rows and chunks of one endpoint in the simplest way. Tests compare the production reader
 * with it.
 */
import type { Sql } from '../../src/kernel/db.ts'
import { unpack } from '../../src/services/time-series/pack/chunk-codec.ts'
import { merge, type Points, type Value, valueAt } from '../../src/services/time-series/points.ts'
import { valuesInRecord } from '../../src/services/time-series/record.ts'
import { valuesOf } from '../../src/services/time-series/write/rows.ts'

/** Returns all points of an endpoint: `series/value` → [time, value][]. */
export async function readPoints(sql: Sql, endpointId: string): Promise<Record<string, [number, Value][]>> {
  const series = await sql`select series_id, name, value_name from time_series.series`
  const names = new Map(series.map(({ seriesId, name, valueName }) => [seriesId, `${name}/${valueName}`]))
  // The unpacked rows are read before the chunks. Rows that are packed between the two queries are then read twice, and merging removes the
  // duplicates. If the chunks were read first, these rows would be missed.
  const unpacked = await sql`
    select ts, record, x, series_ids from time_series.samples s
    join time_series.endpoints using (endpoint_no) join time_series.sets using (set_id)
    where endpoint_id = ${endpointId} order by slot, written`
  const chunks = await sql`
    select c.* from time_series.chunks c join time_series.endpoints using (endpoint_no)
    where endpoint_id = ${endpointId} order by slot, part`
  const sources = new Map<number, Points[]>()
  const add = (seriesId: number, source: Points) => {
    const existing = sources.get(seriesId)
    if (existing) existing.push(source)
    else sources.set(seriesId, [source])
  }
  for (const { seriesId, data } of chunks) add(seriesId, unpack(data))
  const newest = new Map<number, Map<number, Value>>()
  for (const { ts, record, x, seriesIds } of unpacked)
    for (const [index, value] of valuesOf(valuesInRecord(record), x).entries()) {
      const newestOfSeries = newest.get(seriesIds[index]) ?? new Map<number, Value>()
      newest.set(seriesIds[index], newestOfSeries.set(ts, value))
    }
  for (const [seriesId, own] of newest) add(seriesId, pointsOf(own))
  const merged = [...sources].map(([seriesId, some]): [string, [number, Value][]] => {
    const all = merge(some)
    return [
      names.get(seriesId)!,
      Array.from({ length: all.count }, (_, index) => [all.times[index]!, valueAt(all, index)]),
    ]
  })
  return Object.fromEntries(merged.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function pointsOf(values: Map<number, Value>): Points {
  const sorted = [...values].sort(([a], [b]) => a - b)
  return {
    count: sorted.length,
    times: Float64Array.from(sorted, ([time]) => time),
    numbers: Float64Array.from(sorted, ([, value]) => (typeof value === 'number' ? value : Number.NaN)),
    others: new Map(sorted.flatMap(([, value], index) => (typeof value === 'number' ? [] : [[index, value] as const]))),
  }
}
