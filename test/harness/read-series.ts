/** Reads all points with the production reader, in the format of the reference reader (series-reader.ts). */

import assert from 'node:assert/strict'
import { createConcurrencyLimit } from '../../src/kernel/concurrency-limit.ts'
import type { Db } from '../../src/kernel/db.ts'
import { timeMax, timeMin } from '../../src/kernel/times.ts'
import { type Value, valueAt } from '../../src/services/time-series/points.ts'
import { createReader, type ReaderLimits } from '../../src/services/time-series/read/reader.ts'
import type { SelectedSeries } from '../../src/services/time-series/read/selected-series.ts'
import { findEndpointNumbers, findSeries } from '../../src/services/time-series/store/numbers.ts'

export interface ReadRequest {
  endpoints: { tenantId: string; applicationName: string; endpointId: string }[]
  from?: number
  to?: number
  descending?: boolean
  limits?: ReaderLimits
  /** Reads larger parts, as the reader does for reductions. The function returns all points nevertheless. */
  reducing?: 'points'
  /** Names of the series to read; by default all series. */
  only?: string[]
  /** Called after each part that the reader yields. */
  afterPart?: (part: number) => Promise<void>
}

export const oneAtATime = () =>
  createConcurrencyLimit({ perTenant: 1, total: 1, waitingPerTenant: Infinity, waitMs: Infinity })

type OfEndpoint = Record<string, [number, Value][]>

/** Returns endpoint → `series/value` → [time, value][]. All endpoints must belong to one application. */
export async function readSeries(
  db: Db,
  readRequest: ReadRequest,
): Promise<{ points: Record<string, OfEndpoint>; parts: number }> {
  const { endpoints, from = timeMin, to = timeMax, descending = false, limits, only, reducing, afterPart } = readRequest
  const { tenantId, applicationName } = endpoints[0]!
  const stored = await findSeries(db.sql, { tenantId, applicationName })
  const selected = stored.filter(({ name }) => !only || only.includes(name))
  const series: SelectedSeries[] = [...Map.groupBy(selected, ({ name }) => name)].map(([name, values]) => ({
    name,
    values: values.map(({ seriesId, valueName }) => ({ seriesId, name: valueName })),
  }))
  const numbers = await findEndpointNumbers(
    db.sql,
    endpoints.map(({ endpointId }) => endpointId),
  )
  const idOf = new Map(numbers.map(({ endpointId, endpointNo }) => [endpointNo, endpointId]))
  const reader = createReader({ db, readLimit: oneAtATime(), ...(limits && { limits }) })
  const points: Record<string, OfEndpoint> = {}
  const request = {
    tenantId,
    applicationName,
    endpointNos: [...idOf.keys()],
    series,
    from,
    to,
    descending,
    prefetch: true,
    ...(reducing && { reducing }),
  }
  let parts = 0
  for await (const { fragments } of reader.read(request)) {
    parts++
    const seen = new Set<string>()
    for (const { endpointNo, series: own, columns } of fragments) {
      const key = `${endpointNo} ${own.name}`
      assert.ok(!seen.has(key), 'a part must contain a series at most once')
      seen.add(key)
      const ofEndpoint = points[idOf.get(endpointNo)!] ?? {}
      points[idOf.get(endpointNo)!] = ofEndpoint
      for (const { name, points: some } of columns) {
        const list = Array.from({ length: some.count }, (_, index): [number, Value] => [
          some.times[index]!,
          valueAt(some, index),
        ])
        const field = `${own.name}/${name}`
        ofEndpoint[field] = descending
          ? [...list, ...(ofEndpoint[field] ?? [])]
          : [...(ofEndpoint[field] ?? []), ...list]
      }
    }
    await afterPart?.(parts)
  }
  return { points, parts }
}
