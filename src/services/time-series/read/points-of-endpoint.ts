/** Reads points of one endpoint and series for other services, with the same queries as the API. */
import type { Kit } from '../../../kernel/define-service.ts'
import { timeOf } from '../../../kernel/times.ts'
import type { Point, SeriesOfEndpoint, TimeSeries } from '../contract.ts'
import type { DataQuery } from './data.ts'
import type { LastQuery } from './last.ts'

type Api = Pick<TimeSeries, 'lastPoints' | 'pointsBetween' | 'timeOf'>

export function createPointsOfEndpoint(
  { system, now }: Pick<Kit, 'system' | 'now'>,
  { data, last }: { data: DataQuery; last: LastQuery },
): Api {
  const filterOf = ({ applicationName, endpointId, seriesName }: SeriesOfEndpoint) => ({
    applicationName,
    endpointIds: [endpointId],
    seriesNames: [seriesName],
  })
  return {
    async lastPoints(series, limits) {
      const request = { ...filterOf(series), until: undefined, offset: 0, limit: limits.points }
      const text = await textOf(await last.read(system(series.tenantId), request), limits.bytes)
      if (text === undefined) return 'more bytes'
      return pointsIn(JSON.parse(text), series)
    },
    async pointsBetween(series, span, limits) {
      const request = { ...filterOf(series), span, descending: false, reduction: undefined, format: 'json' as const }
      const text = await textOf(await data.read(system(series.tenantId), request), limits.bytes)
      if (text === undefined) return 'more bytes'
      const points = (JSON.parse(text) as PointsByEndpoint[]).flatMap((element) => pointsIn(element, series))
      return points.length > limits.points ? 'more points' : points
    },
    timeOf: (text) => timeOf(text, now()),
  }
}

type PointsByEndpoint = Record<string, Record<string, Point[]>>

function pointsIn(
  found: PointsByEndpoint,
  { endpointId, seriesName }: { endpointId: string; seriesName: string },
): Point[] {
  const bySeries = Object.hasOwn(found, endpointId) ? found[endpointId]! : {}
  return Object.hasOwn(bySeries, seriesName) ? bySeries[seriesName]! : []
}

/** Returns the whole response; undefined if it has more than `bytesMax` bytes. */
async function textOf(response: AsyncIterable<Buffer>, bytesMax: number): Promise<string | undefined> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response) {
    bytes += part.length
    if (bytes > bytesMax) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}
