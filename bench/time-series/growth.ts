/** Checks that stored data does not slow the platform down: compares one million values with a hundred million values, alternately. */

import { type PreparedData, prepareData } from '../gateway/bench-platform.ts'
import { type Generator, startGenerator } from '../gateway/generator.ts'
import type { Load } from '../gateway/measure.ts'
import { removeDirectory } from '../platform.ts'
import { type Figure, median } from '../report.ts'
import { startBenchPlatform } from './bench-platform.ts'
import { began, type Dataset, fields, valuesOf } from './dataset.ts'
import { fillPacked, fillWithRecentSamples, seriesNameOf, storeIds } from './fill.ts'
import { runWithCost, withConnections } from './load.ts'
import { latestOf } from './reading.ts'

const endpoints = 1000
const runs = 3
const stepMs = 10_000

interface Size {
  name: string
  packed: Dataset
  /** Samples that are not packed yet. */
  unpacked: Dataset
}

const small: Size = {
  name: '1,000,000 values',
  packed: { endpoints, points: 180, stepMs },
  unpacked: { endpoints, points: 20, stepMs },
}
/** The number of unpacked samples is half of the maximum of a slot, which is closed and packed at 2,000,000 samples. */
const large: Size = {
  name: '100,000,000 values',
  packed: { endpoints, points: 19_000, stepMs },
  unpacked: { endpoints, points: 1000, stepMs },
}

interface SizeFigures {
  rate: number
  lastMs: number
}

export async function growth(seconds: number): Promise<Figure[]> {
  const generator = startGenerator('any')
  const preparedBySize = new Map<Size, PreparedData>()
  try {
    for (const size of [small, large]) preparedBySize.set(size, await prepareFilled(size))
    const found = new Map<Size, SizeFigures[]>([small, large].map((size) => [size, []]))
    for (let run = 0; run < runs; run++)
      for (const size of run % 2 === 0 ? [small, large] : [large, small])
        found.get(size)!.push(await measureSize(generator, size, preparedBySize.get(size)!, seconds))
    const medianOf = (size: Size, figureName: keyof SizeFigures) =>
      median(found.get(size)!.map((one) => one[figureName]))
    return [
      ...[small, large].flatMap((size): Figure[] => [
        { name: `${size.name} stored: ingest`, value: medianOf(size, 'rate'), unit: 'messages/s' },
        {
          name: `${size.name} stored: latest value of ${endpoints} endpoints`,
          value: medianOf(size, 'lastMs'),
          unit: 'ms',
        },
      ]),
      {
        name: `Ingest with ${large.name} against ${small.name}`,
        value: medianOf(large, 'rate') / medianOf(small, 'rate'),
        unit: 'times',
        limit: { min: 0.8 },
      },
      {
        name: `Latest values with ${large.name} against ${small.name}`,
        value: medianOf(large, 'lastMs') / medianOf(small, 'lastMs'),
        unit: 'times',
        limit: { max: 1.2 },
      },
    ]
  } finally {
    generator.stop()
    for (const { directory } of preparedBySize.values()) removeDirectory(directory)
  }
}

async function prepareFilled({ name, packed, unpacked }: Size): Promise<PreparedData> {
  const started = performance.now()
  const prepared = await prepareData(endpoints)
  const bench = await startBenchPlatform(prepared)
  try {
    const ids = await storeIds(bench, endpoints)
    await fillPacked(bench, ids, packed)
    await fillWithRecentSamples(bench, ids, { ...unpacked, from: began + packed.points * packed.stepMs })
    await bench.db.sql.unsafe('vacuum analyze time_series.chunks')
    await bench.db.sql`checkpoint`
    const [row] = await bench.db.sql`
      select (select sum(n) from time_series.chunks)::float8 + (select count(*) from time_series.samples)::float8 * ${fields.length} as values`
    if (row!.values !== valuesOf(packed) + valuesOf(unpacked))
      throw new Error(`${row!.values} values instead of ${name}`)
    console.error(`${name} after ${((performance.now() - started) / 1000).toFixed(0)} s`)
    return prepared
  } finally {
    await bench.stop()
  }
}

const load: Load = { name: '1,000 connections', connections: endpoints, window: 4, payload: 'sample' }

async function measureSize(
  generator: Generator,
  size: Size,
  prepared: PreparedData,
  seconds: number,
): Promise<SizeFigures> {
  const bench = await startBenchPlatform(prepared)
  try {
    const { perSecond } = await withConnections(generator, bench, load, () =>
      runWithCost(generator, bench, `${size.name} stored`, { seconds }),
    )
    const lastMs = await latestOf(bench, size.packed, [seriesNameOf(fields[0]!)])
    console.error(`${size.name} stored: latest values in ${lastMs.toFixed(1)} ms`)
    return { rate: perSecond, lastMs }
  } finally {
    await bench.stop()
  }
}
