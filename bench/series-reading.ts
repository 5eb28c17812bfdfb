/** Reading time series over HTTP: a million points as they are, one series packed and not packed, parts of time, latest values. */
import { request } from 'node:http'
import { createBuilder, type PackedChunk, packed } from '../src/services/time-series/pack/builder.ts'
import { copyChunks } from '../src/services/time-series/store/chunks.ts'
import { findOpenSlot } from '../src/services/time-series/store/slots.ts'
import { memoryMb } from '../test/harness/processes.ts'
import { applicationName, openSite, type Site } from './register/site.ts'
import { type Figure, median } from './report.ts'

const start = Date.UTC(2026, 0, 1)
const stepMs = 10_000

/** Two decimals, as a thermometer has them. */
function measured(series: number, step: number) {
  const wave = Math.sin(step / 300 + series) + (Math.imul(step + series, 2654435761) >>> 28) / 400
  return Math.round(2000 + 500 * wave) / 100
}

async function number(sql: Site['sql'], tenantId: string, endpointId: string): Promise<number> {
  const [row] = await sql`
    insert into time_series.endpoints (endpoint_id, tenant_id, application_name)
    values (${endpointId}, ${tenantId}, ${applicationName}) returning endpoint_no`
  return row!.endpointNo
}

async function series(sql: Site['sql'], tenantId: string, count: number): Promise<number[]> {
  const names = Array.from({ length: count }, (_, index) => `auto~s${index}`)
  const rows = await sql`
    insert into time_series.series (tenant_id, application_name, name, value_name)
    select ${tenantId}, ${applicationName}, name, 'value' from unnest(${names}::text[]) as name
    returning series_id, name`
  const ids = new Map(rows.map(({ name, seriesId }) => [name, seriesId as number]))
  return names.map((name) => ids.get(name)!)
}

async function pack(sql: Site['sql'], endpointNo: number, seriesIds: number[], points: number) {
  const chunks: PackedChunk[] = []
  const builder = createBuilder(endpointNo, (chunk) => void chunks.push(packed(chunk, 0)))
  for (const [index, seriesId] of seriesIds.entries())
    for (let step = 0; step < points; step++) builder.add(seriesId, start + step * stepMs, measured(index, step))
  builder.finish()
  await sql.begin((inner) => copyChunks(inner, chunks))
}

async function warm(sql: Site['sql'], tenantId: string, endpointNo: number, seriesId: number, points: number) {
  const [set] = await sql`
    insert into time_series.sets (tenant_id, application_name, series_ids)
    values (${tenantId}, ${applicationName}, ${[seriesId]}::integer[]) returning set_id`
  const slot = await findOpenSlot(sql)
  await sql`
    insert into time_series.samples (slot, endpoint_no, ts, set_id, written, v)
    select ${slot!}, ${endpointNo}, ${start}::bigint + n * ${stepMs}, ${set!.setId}, n, array[20 + (n % 1000) / 100.0]::float8[]
    from generate_series(0, ${points - 1}) as n`
}

async function latest(sql: Site['sql'], tenantId: string, seriesIds: number[], endpoints: number) {
  const [set] = await sql`
    insert into time_series.sets (tenant_id, application_name, series_ids)
    values (${tenantId}, ${applicationName}, ${seriesIds}::integer[]) returning set_id`
  await sql`
    with made as (
      insert into time_series.endpoints (endpoint_id, tenant_id, application_name)
      select 'latest-' || n, ${tenantId}, ${applicationName} from generate_series(1, ${endpoints}::integer) as n
      returning endpoint_no)
    insert into time_series.latest (endpoint_no, set_id, ts, written, v)
    select endpoint_no, ${set!.setId}, ${start}, 1, array[21.5, 48, 3.71, 1013.25, 7]::float8[] from made`
}

interface Taken {
  ms: number
  bytes: number
  /** Until the first piece. */
  firstMs: number
}

function take(url: string, token: string, body?: object, headers: Record<string, string> = {}): Promise<Taken> {
  return new Promise((resolve, reject) => {
    const began = performance.now()
    let [bytes, firstMs] = [0, 0]
    const asked = request(
      url,
      {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      },
      (answer) => {
        if (answer.statusCode !== 200) reject(new Error(`${answer.statusCode}`))
        answer.on('data', (piece: Buffer) => {
          if (bytes === 0) firstMs = performance.now() - began
          bytes += piece.length
        })
        answer.on('end', () => resolve({ ms: performance.now() - began, bytes, firstMs }))
        answer.on('error', reject)
      },
    )
    asked.on('error', reject)
    asked.end(body && JSON.stringify(body))
  })
}

export async function seriesReading(): Promise<Figure[]> {
  const site = await openSite()
  try {
    const { sql, tenantId, platform } = site
    const ids = await series(sql, tenantId, 100)
    await pack(sql, await number(sql, tenantId, 'wide'), ids, 10_000)
    await pack(sql, await number(sql, tenantId, 'long'), ids.slice(0, 1), 100_000)
    await pack(sql, await number(sql, tenantId, 'large'), ids.slice(0, 50), 100_000)
    await warm(sql, tenantId, await number(sql, tenantId, 'hot'), ids[0]!, 100_000)
    await latest(sql, tenantId, ids.slice(0, 5), 1000)
    await sql.unsafe('vacuum analyze time_series.chunks, time_series.latest, time_series.endpoints')
    const root = `${platform.baseUrl}/epts/api/v1/applications/${applicationName}/time-series`
    const always = { fromDate: '2025-01-01', toDate: '2028-01-01' }
    const names = (count: number) => ids.slice(0, count).map((_, index) => `auto~s${index}`)
    const figures: Figure[] = []
    const measure = async (name: string, limit: number, path: string, body: object, rounds = 7) => {
      const token = await site.token()
      const all: Taken[] = []
      let grown = 0
      const before = memoryMb([platform.pid])
      for (let round = 0; round < rounds; round++) {
        all.push(await take(`${root}/${path}`, token, body))
        grown = Math.max(grown, memoryMb([platform.pid]) - before)
      }
      const ms = median(all.map((one) => one.ms))
      const first = median(all.map((one) => one.firstMs))
      console.error(
        `${name}: ${ms.toFixed(1)} ms (${all.map((one) => one.ms.toFixed(0)).join(' ')}), first ${first.toFixed(1)}, ` +
          `${(all[0]!.bytes / 1e6).toFixed(1)} MB, server ${before.toFixed(0)} MB and ${grown.toFixed(0)} more`,
      )
      figures.push({ name, value: ms, unit: 'ms', limit: { most: limit } })
    }
    const data = (endpointId: string, count: number, more: object = {}) => ({
      ...always,
      timeSeriesNames: names(count),
      endpointIDs: [endpointId],
      ...more,
    })
    await measure('A million points of 100 series', 1000, 'data', data('wide', 100))
    await measure('100,000 points of one series, packed', 150, 'data', data('long', 1))
    await measure('100,000 points of one series, not packed', 150, 'data', data('hot', 1))
    await measure(
      'The latest of 1000 endpoints, one series',
      20,
      'last',
      {
        endpointIDs: Array.from({ length: 1000 }, (_, index) => `latest-${index + 1}`),
        timeSeriesNames: names(1),
      },
      30,
    )
    await measure(
      'The latest of 1000 endpoints, all series',
      20,
      'last',
      {
        endpointIDs: Array.from({ length: 1000 }, (_, index) => `latest-${index + 1}`),
      },
      30,
    )
    await measure('5,000,000 points by the hour', 750, 'data', data('large', 50, { aggregate: 'avg', interval: '1h' }))
    await measure('5,000,000 points by the day', 750, 'data', data('large', 50, { aggregate: 'avg', interval: '1d' }))
    await measure('5,000,000 points as 1000 for each series', 1500, 'data', data('large', 50, { points: 1000 }))
    await measure('Five million points of 50 series', 5000, 'data', data('large', 50), 3)
    return figures
  } finally {
    await site.close()
  }
}

if (process.argv[1] === import.meta.filename) {
  await seriesReading()
  process.exit(0)
}
