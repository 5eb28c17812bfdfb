/** Sends samples over MQTT with QoS 1 to the whole platform, including the traffic log; each PUBACK follows the commit. */

import type { PreparedData } from '../gateway/bench-platform.ts'
import { type Generator, startGenerator } from '../gateway/generator.ts'
import type { Load } from '../gateway/measure.ts'
import { samplesOfBatch, valuesOfSample } from '../gateway/payloads.ts'
import { type Figure, median } from '../report.ts'
import { type BenchPlatform, startBenchPlatform } from './bench-platform.ts'
import type { Cost } from './cost.ts'
import { type LoadResult, type Pace, runWithCost, withConnections } from './load.ts'
import { copyAlone, core, echo } from './upper-limits.ts'

const runs = 3
const leastRate = 15_000
/** Messages per second while the p99 is measured: 70 % of the required rate, as the specification demands. */
const steadyRate = leastRate * 0.7

const thousand = (window: number, payload: Load['payload'] = 'sample'): Load => ({
  name: `1,000 connections, at most ${window} in flight on each`,
  connections: 1000,
  window,
  payload: payload!,
})
const several = thousand(4)
const single = thousand(1)
/** The load that sends at a fixed rate instead of after each response. */
const paced = thousand(8)

type MeasuredLoad = LoadResult & { cost: Cost }

/** Figures without a limit, measured once. */
interface UnlimitedFigures {
  answered: MeasuredLoad
  busy: MeasuredLoad
}

interface IngestRun {
  echo: LoadResult
  steadyEcho: LoadResult
  core: LoadResult
  highest: MeasuredLoad
  waiting: MeasuredLoad
  steady: MeasuredLoad
  copy: number
}

export async function ingest(prepared: PreparedData, seconds: number): Promise<Figure[]> {
  const generator = startGenerator('any')
  try {
    const all: IngestRun[] = []
    let unlimited: UnlimitedFigures | undefined
    for (let run = 0; run < runs; run++) {
      const limits = {
        echo: await echo(generator, several, { seconds }),
        steadyEcho: await echo(generator, paced, { seconds, rate: steadyRate }),
        core: await core(generator, prepared, several, { seconds }),
      }
      const bench = await startBenchPlatform(prepared)
      try {
        const ours = await measureRun(generator, bench, seconds)
        all.push({ ...limits, ...ours })
        unlimited ??= await measureUnlimited(generator, bench, seconds, ours.highest.perSecond * 0.7)
      } finally {
        await bench.stop()
      }
    }
    return figuresOf(all, unlimited!)
  } finally {
    generator.stop()
  }
}

async function measured(
  generator: Generator,
  bench: BenchPlatform,
  name: string,
  load: Load,
  pace: Pace,
): Promise<MeasuredLoad> {
  return await withConnections(generator, bench, load, () => runWithCost(generator, bench, name, pace))
}

async function measureRun(generator: Generator, bench: BenchPlatform, seconds: number) {
  return {
    highest: await measured(generator, bench, 'highest rate', several, { seconds }),
    waiting: await measured(generator, bench, 'each waits for its PUBACK', single, { seconds }),
    steady: await measured(generator, bench, `${steadyRate}/s`, paced, { seconds, rate: steadyRate }),
    copy: await copyAlone(bench, seconds / 2),
  }
}

async function measureUnlimited(
  generator: Generator,
  bench: BenchPlatform,
  seconds: number,
  rate: number,
): Promise<UnlimitedFigures> {
  const withRequestIds: BenchPlatform = { ...bench, expecting: 'answered' }
  return {
    answered: await measured(generator, withRequestIds, 'with request ids', several, { seconds }),
    busy: await measured(generator, bench, '70 % of the highest', paced, { seconds, rate }),
  }
}

const medianOf = (runs: IngestRun[], figureOf: (turn: IngestRun) => number) => median(runs.map(figureOf))

function figuresOf(all: IngestRun[], { answered, busy }: UnlimitedFigures): Figure[] {
  const name = 'One sample of 5 values in each message'
  const figure = (suffix: string, unit: string, pick: (turn: IngestRun) => number): Figure => ({
    name: `${name}${suffix}`,
    value: medianOf(all, pick),
    unit,
  })
  const rates = all.map(({ highest }) => highest.perSecond)
  const costs = (loadName: string, pick: (turn: IngestRun) => Cost) => [
    figure(`${loadName}: processor time of the load generator`, 'µs', (turn) => pick(turn).load),
    figure(`${loadName}: processor time of Node.js`, 'µs', (turn) => pick(turn).node),
    figure(`${loadName}: processor time of PostgreSQL`, 'µs', (turn) => pick(turn).database),
  ]
  return [
    {
      ...figure(`, ${several.name}`, 'messages/s', ({ highest }) => highest.perSecond),
      limit: { min: leastRate },
    },
    {
      name: `${name}: fastest round against the slowest`,
      value: Math.max(...rates) / Math.min(...rates),
      unit: 'times',
    },
    figure(
      ': against the node:net echo of the same bytes',
      'times',
      (turn) => turn.highest.perSecond / turn.echo.perSecond,
    ),
    figure(
      ': against the gateway with an extension that does nothing',
      'times',
      (turn) => turn.highest.perSecond / turn.core.perSecond,
    ),
    figure(
      ': values a second against COPY alone',
      'times',
      (turn) => (turn.highest.perSecond * valuesOfSample) / turn.copy,
    ),
    ...costs(', at the highest rate', ({ highest }) => highest.cost),
    figure(', one message in flight on each connection', 'messages/s', ({ waiting }) => waiting.perSecond),
    figure(', with request ids: PUBACK and /status', 'messages/s', () => answered.perSecond),
    figure(`, ${steadyRate} messages/s: p50 of the PUBACK`, 'ms', ({ steady }) => steady.p50Ms),
    {
      ...figure(`, ${steadyRate} messages/s: p99 of the PUBACK`, 'ms', ({ steady }) => steady.p99Ms),
      limit: { max: 60 },
    },
    figure(`, ${steadyRate} messages/s: p99 of the node:net echo`, 'ms', ({ steadyEcho }) => steadyEcho.p99Ms),
    ...costs(`, ${steadyRate} messages/s`, ({ steady }) => steady.cost),
    figure(', 70 % of the highest rate: p50 of the PUBACK', 'ms', () => busy.p50Ms),
    figure(', 70 % of the highest rate: p99 of the PUBACK', 'ms', () => busy.p99Ms),
    figure(': COPY alone', 'values/s', ({ copy }) => copy),
  ]
}

/** Measures messages with a hundred samples each. */
export async function batches(prepared: PreparedData, seconds: number): Promise<Figure[]> {
  const generator = startGenerator('any')
  const bench = await startBenchPlatform(prepared)
  try {
    const load = thousand(1, 'batch')
    const all: (MeasuredLoad & { copy: number })[] = []
    for (let run = 0; run < runs; run++) {
      const ran = await withConnections(generator, bench, load, () =>
        runWithCost(generator, bench, 'batches', { seconds }),
      )
      all.push({ ...ran, copy: await copyAlone(bench, seconds / 2) })
    }
    const values = samplesOfBatch * valuesOfSample
    const name = `${samplesOfBatch} samples of 5 values in each message`
    const figure = (suffix: string, unit: string, pick: (one: MeasuredLoad & { copy: number }) => number): Figure => ({
      name: `${name}${suffix}`,
      value: median(all.map(pick)),
      unit,
    })
    return [
      {
        ...figure(`, ${load.name}`, 'values/s', ({ perSecond }) => perSecond * values),
        limit: { min: 250_000 },
      },
      figure(': against COPY alone', 'times', ({ perSecond, copy }) => (perSecond * values) / copy),
      figure(': processor time of the load generator for a value', 'µs', ({ cost }) => cost.load / values),
      figure(': processor time of Node.js for a value', 'µs', ({ cost }) => cost.node / values),
      figure(': processor time of PostgreSQL for a value', 'µs', ({ cost }) => cost.database / values),
    ]
  } finally {
    await bench.stop()
    generator.stop()
  }
}
