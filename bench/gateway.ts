import { prepareData, startBenchPlatform } from './gateway/bench-platform.ts'
import {
  aedes,
  type Contender,
  echo,
  gatewayCore,
  mosquitto,
  sessionLayer,
  wholePlatform,
} from './gateway/contenders.ts'
import { type Generator, startGenerator } from './gateway/generator.ts'
import { healthyDevice } from './gateway/healthy-device.ts'
import {
  atRate,
  type ConnectRates,
  type Load,
  type LoadFigures,
  loads,
  measure,
  measureConnects,
  measureIdle,
  smallYoungGeneration,
} from './gateway/measure.ts'
import { pushes } from './gateway/pushes.ts'
import { ensureMosquitto } from './gateway/servers.ts'
import { reconnectAll } from './gateway/storm.ts'
import { runParts } from './parts.ts'
import { removeDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'

/** Duration of one load. BENCH_SECONDS sets a shorter duration for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 6)
/** Number of runs at 1,000 connections, where the limits apply. */
const runs = 3
const thousandConnections = loads.find(({ connections }) => connections === 1000)!

interface ContenderResult extends ConnectRates {
  kilobytes: number
  byLoad: LoadFigures[]
}

/**
 * Measures QoS 1 messages of 200 bytes of JSON with PUBACK and one response, for an echo server (the upper limit), the layers of the
 * platform and other brokers under the same load. The server runs on the first core, the load on the second. Rates are per second of
 * processor time.
 */
export async function gateway(): Promise<Figure[]> {
  ensureMosquitto()
  const generator = startGenerator()
  const prepared = await prepareData()
  const platform = wholePlatform(prepared)
  try {
    return await runParts({
      rates: () => measureRates(generator, gatewayCore(prepared), platform),
      async reconnects() {
        const bench = await startBenchPlatform(platform.name, prepared)
        return await reconnectAll(generator, bench).finally(bench.stop)
      },
      'healthy-device': () => healthyDevice(prepared),
      pushes: () => pushes(prepared),
    })
  } finally {
    generator.stop()
    removeDirectory(prepared.directory)
  }
}

async function measureRates(generator: Generator, core: Contender, platform: Contender): Promise<Figure[]> {
  const outcomes = new Map<Contender, ContenderResult>()
  for (const contender of [echo, sessionLayer, core, platform, aedes, mosquitto])
    outcomes.set(contender, await measureAll(generator, contender))
  for (let run = 1; run < runs; run++)
    for (const contender of [echo, sessionLayer, core, aedes])
      outcomes.get(contender)!.byLoad.push(...(await measureSome(generator, contender, [thousandConnections])))
  const latencyFigures = await measureAt70Percent(generator, core, outcomes.get(core)!)
  const details = [...outcomes].flatMap(([contender, outcome]) => figuresOf(contender, outcome))
  return [...limitsOf(outcomes, core), ...latencyFigures, ...details]
}

/** Measures latency at 70 % of the highest rate, because at full load most of the latency is waiting time in the queue. */
async function measureAt70Percent(
  generator: Generator,
  contender: Contender,
  outcome: ContenderResult,
): Promise<Figure[]> {
  const rate = Math.round(medianOf(outcome, thousandConnections, 'perSecond') * 0.7)
  const server = await contender.start()
  const { p50Ms, p99Ms } = await atRate(generator, server, rate, seconds).finally(server.stop)
  const name = `${contender.name}, 1,000 connections, 70 % of the highest rate`
  return [
    { name: `${name}: p50`, value: p50Ms, unit: 'ms' },
    { name: `${name}: p99`, value: p99Ms, unit: 'ms' },
  ]
}

async function measureAll(generator: Generator, contender: Contender): Promise<ContenderResult> {
  const idleServer = await contender.start(smallYoungGeneration)
  const kilobytes = await measureIdle(generator, idleServer).finally(idleServer.stop)
  const connectServer = await contender.start()
  const rates = await measureConnects(generator, connectServer).finally(connectServer.stop)
  return { kilobytes, ...rates, byLoad: await measureSome(generator, contender, loads) }
}

async function measureSome(generator: Generator, contender: Contender, selectedLoads: Load[]): Promise<LoadFigures[]> {
  const server = await contender.start()
  try {
    const measured: LoadFigures[] = []
    for (const load of selectedLoads) measured.push(await measure(generator, server, load, seconds))
    return measured
  } finally {
    await server.stop()
  }
}

const medianOf = ({ byLoad }: ContenderResult, load: Load, metric: 'perCore' | 'perSecond' | 'p50Ms' | 'p99Ms') =>
  median(byLoad.filter((measured) => measured.load === load).map((measured) => measured[metric]))

function limitsOf(outcomes: Map<Contender, ContenderResult>, core: Contender): Figure[] {
  const rate = (contender: Contender) => medianOf(outcomes.get(contender)!, thousandConnections, 'perCore')
  const ratioFigure = (name: string, value: number, min: number) => ({ name, value, unit: 'times', limit: { min } })
  return [
    ratioFigure('Session layer against the echo, 1,000 connections', rate(sessionLayer) / rate(echo), 0.6),
    ratioFigure(
      'Gateway with an extension that does nothing against the echo, 1,000 connections',
      rate(core) / rate(echo),
      0.6,
    ),
    ratioFigure('Session layer against Aedes, 1,000 connections', rate(sessionLayer) / rate(aedes), 1.8),
    ratioFigure(
      'Gateway with an extension that does nothing against Aedes, 1,000 connections',
      rate(core) / rate(aedes),
      1.8,
    ),
    ...[sessionLayer, core].flatMap((contender) => idleFigures(contender, outcomes.get(contender)!, limitsOfIdle)),
  ]
}

const limitsOfIdle = { kilobytes: { limit: { max: 14 } }, connects: { limit: { min: 2500 } } }

function idleFigures({ name }: Contender, outcome: ContenderResult, limits?: typeof limitsOfIdle): Figure[] {
  const { kilobytes, connectsPerSecond, firstMessagesPerSecond } = outcome
  const figures: Figure[] = [
    { name: `${name}: an idle connection`, value: kilobytes, unit: 'KB', ...limits?.kilobytes },
    { name: `${name}: connects`, value: connectsPerSecond, unit: '/s', ...limits?.connects },
  ]
  if (firstMessagesPerSecond !== undefined)
    figures.push({ name: `${name}: connects with the first message`, value: firstMessagesPerSecond, unit: '/s' })
  return figures
}

const figuresOf = (contender: Contender, outcome: ContenderResult): Figure[] => [
  ...loads.flatMap((load): Figure[] => [
    {
      name: `${contender.name}, ${load.name}: messages for one core`,
      value: medianOf(outcome, load, 'perCore'),
      unit: '/s',
    },
    { name: `${contender.name}, ${load.name}: p50`, value: medianOf(outcome, load, 'p50Ms'), unit: 'ms' },
    { name: `${contender.name}, ${load.name}: p99`, value: medianOf(outcome, load, 'p99Ms'), unit: 'ms' },
  ]),
  ...idleFigures(contender, outcome),
]
