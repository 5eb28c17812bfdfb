/** Compares queries on samples that are not packed yet with the same queries on packed points, while devices continue to send. */
import type { PreparedData } from '../gateway/bench-platform.ts'
import { startGenerator } from '../gateway/generator.ts'
import { type Figure, median } from '../report.ts'
import { startBenchPlatform } from './bench-platform.ts'
import { began, type Dataset, fields, valuesOf } from './dataset.ts'
import { fillWithRecentSamples, packAll, storeIds } from './fill.ts'
import { run, withConnections } from './load.ts'
import { type Contender, hourly, platformReading } from './queries.ts'

/** A million values: 200 endpoints with 1,000 samples each, one a minute, of five values. */
const dataset: Dataset = { endpoints: 200, points: 1000, stepMs: 60_000, from: began }
/** Messages per second: half of the rate at which acknowledgements are measured. */
const rate = 5250
const rounds = 5
const loadSeconds = 20

export async function recent(prepared: PreparedData, withLoad = true): Promise<Figure[]> {
  const generator = startGenerator('any')
  const bench = await startBenchPlatform(prepared)
  try {
    const ids = await storeIds(bench, dataset.endpoints)
    await fillWithRecentSamples(bench, ids, dataset)
    const questions: [string, Contender][] = [
      ['hourly averages', platformReading(bench, dataset, dataset.points, hourly)],
      ['all points as JSON', platformReading(bench, dataset, dataset.points)],
    ]
    const measure = async () => {
      const times: number[] = []
      for (const [, { ask }] of questions) {
        const all: number[] = []
        await ask(false)
        for (let round = 0; round < rounds; round++) all.push((await ask(false)).ms)
        times.push(median(all))
      }
      return times
    }
    const whileSending = async <T>(work: () => Promise<T>): Promise<T> => {
      if (!withLoad) return await work()
      const load = { name: 'half rate', connections: 1000, window: 8, payload: 'sample' as const }
      return await withConnections(generator, bench, load, async () => {
        const sending = run(generator, bench, { seconds: loadSeconds, rate })
        const result = await work()
        await sending
        return result
      })
    }
    const answersBefore = await answersOf(questions)
    const unpacked = await whileSending(measure)
    await packAll(bench)
    compare(answersBefore, await answersOf(questions))
    const packed = await whileSending(measure)
    const values = valuesOf(dataset)
    return questions.flatMap(([name], index): Figure[] => [
      { name: `${values} recent points, ${name}`, value: unpacked[index]!, unit: 'ms' },
      { name: `${values} packed points, ${name}`, value: packed[index]!, unit: 'ms' },
      {
        name: `${values} points, ${name}: recent against packed`,
        value: unpacked[index]! / packed[index]!,
        unit: 'times',
        limit: { max: 2 },
      },
    ])
  } finally {
    await bench.stop()
    generator.stop()
  }
}

const answersOf = async (questions: [string, Contender][]) =>
  await Promise.all(questions.map(async ([, { ask, totalsOf }]) => totalsOf((await ask(true)).text)))

function compare(before: { count: number; sum: number }[], after: { count: number; sum: number }[]) {
  for (const [index, { count, sum }] of before.entries())
    if (count !== after[index]!.count || Math.abs(sum / after[index]!.sum - 1) > 1e-9)
      throw new Error(
        `${count} points with the sum ${sum} are ${after[index]!.count} with ${after[index]!.sum} when packed`,
      )
  if (before[1]!.count !== dataset.endpoints * dataset.points * fields.length)
    throw new Error(`${before[1]!.count} points were read`)
}
