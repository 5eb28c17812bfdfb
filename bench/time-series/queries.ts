/** Queries to the platform and its peers: points of series as JSON over HTTP, and their hourly averages. */
import { applicationName } from '../gateway/bench-platform.ts'
import type { BenchPlatform } from './bench-platform.ts'
import { began, type Dataset, endpointIdOf, fields, timeOf } from './dataset.ts'
import { seriesNameOf } from './fill.ts'
import { type HttpResult, sendRequest } from './http.ts'
import type { Peer } from './peers.ts'

export interface Contender {
  name: string
  ask(whole: boolean): Promise<HttpResult>
  /** Returns the number of points in the response, and the sum of their values. */
  totalsOf(text: string): PointTotals
}

export interface PointTotals {
  count: number
  sum: number
}

const iso = (time: number) => new Date(time).toISOString()

type Answer = Record<string, Record<string, { timestamp: string; values: Record<string, number> }[]>>

/** Returns a function that queries the platform; it renews its token every minute. */
export function createQuery(bench: BenchPlatform) {
  const root = `${bench.platform.baseUrl}/epts/api/v1/applications/${applicationName}/time-series`
  let [token, since] = [bench.token(), performance.now()]
  return async (path: 'data' | 'last', body: object, withText = false): Promise<HttpResult> => {
    if (performance.now() - since > 60_000) [token, since] = [bench.token(), performance.now()]
    const headers = { authorization: `Bearer ${await token}`, 'content-type': 'application/json' }
    return await sendRequest(`${root}/${path}`, { method: 'POST', body: JSON.stringify(body), headers, withText })
  }
}

export const idsOf = ({ endpoints }: Dataset) =>
  Array.from({ length: endpoints }, (_, endpoint) => endpointIdOf(endpoint))

/** Queries the first `points` of every series. */
export function platformReading(bench: BenchPlatform, dataset: Dataset, points: number, more: object = {}): Contender {
  const ask = createQuery(bench)
  const body = {
    timeSeriesNames: fields.map(seriesNameOf),
    endpointIDs: idsOf(dataset),
    fromDate: iso(began),
    toDate: iso(timeOf(dataset, points)),
    includeTime: 'from',
    ...more,
  }
  return { name: 'Platform', ask: (whole) => ask('data', body, whole), totalsOf: pointsOf }
}

export function pointsOf(text: string): PointTotals {
  let [count, sum] = [0, 0]
  for (const part of JSON.parse(text) as Answer[])
    for (const series of Object.values(part))
      for (const points of Object.values(series))
        for (const { values } of points) {
          count++
          sum += values.value!
        }
  return { count, sum }
}

export const hourly = { aggregate: 'avg', interval: '1h' }

interface InfluxAnswer {
  results: { series?: { values: (number | null)[][] }[] }[]
}

function rowsOf(text: string): PointTotals {
  let [count, sum] = [0, 0]
  // A chunked response has one JSON document on each line.
  for (const line of text.trim().split('\n'))
    for (const { series = [] } of (JSON.parse(line) as InfluxAnswer).results)
      for (const { values } of series)
        for (const [, ...row] of values)
          for (const value of row)
            if (value !== null) {
              count++
              sum += value!
            }
  return { count, sum }
}

const influx = (name: string, { url }: Peer, statement: string, options = ''): Contender => ({
  name,
  ask: (withText) =>
    sendRequest(`${url}/query?db=bench&epoch=ms${options}&q=${encodeURIComponent(statement)}`, { withText }),
  totalsOf: rowsOf,
})

/**
 * Queries every point with its time in three formats: by series, as the platform returns them; by series in chunks; and as columns, where
 * several values share a time.
 */
export function influxReading(peer: Peer, dataset: Dataset, points: number): Contender[] {
  const within = `from bench where time < ${timeOf(dataset, points)}ms group by endpoint`
  const bySeries = fields.map((field) => `select ${field} ${within}`).join(';')
  const chunked = '&chunked=true&chunk_size=10000'
  return [
    influx(peer.name, peer, bySeries),
    influx(`${peer.name}, chunked`, peer, bySeries, chunked),
    influx(`${peer.name}, five values at each time, chunked`, peer, `select ${fields.join()} ${within}`, chunked),
  ]
}

const endOf = (dataset: Dataset) => timeOf(dataset, dataset.points)

export const influxHourly = (peer: Peer, dataset: Dataset): Contender =>
  influx(
    peer.name,
    peer,
    `select ${fields.map((field) => `mean(${field})`).join()} from bench ` +
      `where time >= ${began}ms and time < ${endOf(dataset)}ms group by time(1h), endpoint`,
  )

interface Matrix {
  data: { result: { values: [number, string][] }[] }
}

const hourSeconds = 3600

/** Queries hourly averages without the response cache. Each average covers the hour before its timestamp. */
export function victoriaHourly(peer: Peer, dataset: Dataset): Contender {
  const query = encodeURIComponent('avg_over_time({__name__=~"bench_.*"}[1h])')
  const last = Math.ceil((endOf(dataset) - began) / 1000 / hourSeconds) * hourSeconds
  const span = `start=${began / 1000 + hourSeconds}&end=${began / 1000 + last}&step=1h`
  return {
    name: peer.name,
    ask: (whole) => sendRequest(`${peer.url}/api/v1/query_range?nocache=1&query=${query}&${span}`, { withText: whole }),
    totalsOf(text) {
      const values = (JSON.parse(text) as Matrix).data.result.flatMap((one) => one.values)
      return { count: values.length, sum: values.reduce((sum, [, value]) => sum + Number(value), 0) }
    },
  }
}
