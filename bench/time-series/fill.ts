/** Writes samples and chunks directly into the store, as the platform does. */
import { sleep, systemClock } from '../../src/kernel/clock.ts'
import { createBuilder, type PackedChunk, packChunk } from '../../src/services/time-series/pack/chunk-builder.ts'
import { monthsFor } from '../../src/services/time-series/pack/months.ts'
import { copyChunks, createMonth, findMonths } from '../../src/services/time-series/store/chunks.ts'
import { nextWritten } from '../../src/services/time-series/store/latest-marks.ts'
import {
  findSeries,
  insertSeries,
  insertSets,
  numberEndpoints,
  type SeriesSet,
} from '../../src/services/time-series/store/numbers.ts'
import { copySamples } from '../../src/services/time-series/store/samples.ts'
import { findOpenSlot, findSlots } from '../../src/services/time-series/store/slots.ts'
import { createRows } from '../../src/services/time-series/write/rows.ts'
import { createSlots } from '../../src/services/time-series/write/slots.ts'
import { applicationName, versionName } from '../gateway/bench-platform.ts'
import type { BenchPlatform } from './bench-platform.ts'
import { type Dataset, endpointIdOf, fields, timeOf, valuesAt } from './dataset.ts'

export interface StoredIds {
  /** Numbers of the endpoints in the database, by index. */
  numbers: number[]
  /** The series of `fields`, in order. */
  set: SeriesSet
}

export const seriesNameOf = (field: string) => `auto~${field}`

/** Stores the endpoints and series, without samples, and returns their ids. */
export async function storeIds({ db: { sql }, tenantId }: BenchPlatform, endpoints: number): Promise<StoredIds> {
  const application = { tenantId, applicationName }
  const ids = Array.from({ length: endpoints }, (_, endpoint) => endpointIdOf(endpoint))
  const numbered = await numberEndpoints(
    sql,
    ids.map((endpointId) => ({ endpointId, ...application })),
  )
  const byId = new Map(numbered.map(({ endpointId, endpointNo }) => [endpointId, endpointNo]))
  await insertSeries(
    sql,
    application,
    fields.map((field) => ({ name: seriesNameOf(field), valueName: 'value' })),
  )
  const series = new Map((await findSeries(sql, application)).map(({ name, seriesId }) => [name, seriesId]))
  const seriesIds = fields.map((field) => series.get(seriesNameOf(field))!)
  const [set] = await insertSets(sql, application, [seriesIds])
  return { numbers: ids.map((id) => byId.get(id)!), set: set! }
}

const rowsPerWrite = 2000
const writers = 3

/** Writes samples as if they had just arrived, in the order in which a fleet sends. */
export async function fillWithRecentSamples(
  { db, tenantId }: BenchPlatform,
  { numbers, set }: StoredIds,
  dataset: Dataset,
) {
  const slot = (await findOpenSlot(db.sql))!
  const origin = { tenantId, applicationName, versionName, endpointId: '' }
  const total = dataset.endpoints * dataset.points
  let next = 0
  const writer = async () => {
    while (next < total) {
      const rows = createRows(Number.POSITIVE_INFINITY)
      rows.first = await nextWritten(db.sql)
      for (const end = Math.min(next + rowsPerWrite, total); next < end; next++) {
        const [endpoint, step] = [next % dataset.endpoints, Math.floor(next / dataset.endpoints)]
        rows.add(numbers[endpoint]!, timeOf(dataset, step), false, [set], valuesAt(endpoint, step), origin)
      }
      await copySamples(db, slot, rows)
    }
  }
  await Promise.all(Array.from({ length: writers }, writer))
}

const timeoutMs = 120_000

/** Closes the open slot, as the platform does when a slot is old or large, and waits until the platform has packed the slot. */
export async function packAll({ db }: BenchPlatform) {
  await createSlots({ db, now: systemClock }).rotate(true)
  const deadline = performance.now() + timeoutMs
  while ((await findSlots(db.sql)).some(({ state }) => state === 'closed' || state === 'packed')) {
    if (performance.now() > deadline) throw new Error('the platform did not pack its samples')
    await sleep(200)
  }
}

const chunksPerWrite = 1500

/** Writes packed chunks, the form in which nearly all samples are stored. */
export async function fillPacked({ db }: BenchPlatform, { numbers, set }: StoredIds, dataset: Dataset) {
  const days = Array.from({ length: dataset.points }, (_, step) => Math.floor(timeOf(dataset, step) / 86_400_000))
  const existingMonths = await findMonths(db.sql)
  for (const month of monthsFor([...new Set(days)], new Date()))
    if (!existingMonths.has(month.name)) await db.tx((sql) => createMonth(sql, month))
  const [slot] = await db.sql`insert into time_series.slots (state) values ('packed') returning slot`
  await db.sql`delete from time_series.slots where slot = ${slot!.slot}`
  let chunks: PackedChunk[] = []
  let writing: Promise<unknown> = Promise.resolve()
  const write = async () => {
    await writing
    const written = chunks
    chunks = []
    writing = db.tx((sql) => copyChunks(sql, written))
    writing.catch(() => {})
  }
  for (const [endpoint, endpointNo] of numbers.entries()) {
    const builder = createBuilder(endpointNo, (chunk) => void chunks.push(packChunk(chunk, slot!.slot)))
    for (let step = 0; step < dataset.points; step++) {
      const values = valuesAt(endpoint, step)
      for (let index = 0; index < values.length; index++)
        builder.add(set.seriesIds[index]!, timeOf(dataset, step), values[index]!)
    }
    builder.finish()
    if (chunks.length >= chunksPerWrite) await write()
  }
  await write()
  await writing
}
