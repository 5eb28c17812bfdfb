/**
 * Measures the cost of 200 open web consoles: memory, processor time, and how much slower device messages are processed while the consoles
 * watch them.
 */
import { type ClientRequest, request } from 'node:http'
import { sleep } from '../src/kernel/clock.ts'
import { cpuSeconds, memoryMb } from '../test/harness/processes.ts'
import { applicationName, type BenchPlatform, prepareData, startBenchPlatform } from './gateway/bench-platform.ts'
import { startGenerator } from './gateway/generator.ts'
import { type LoadFigures, measure } from './gateway/measure.ts'
import { removeDirectory } from './platform.ts'
import { type Figure, median } from './report.ts'

/** Duration of one measurement. BENCH_SECONDS sets a shorter duration for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 9)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const consoleCount = Number(process.env.BENCH_CONSOLES ?? 200)
const newestOnly = process.env.BENCH_ALL_ITEMS !== 'yes'
/** Seconds of load in one measurement, with the warm-up. The consoles also receive data during the warm-up. */
const turnSeconds = seconds + seconds / 3
const load = { name: '1,000 connections', connections: 1000, window: 8 }

interface Consoles {
  /** Bytes that the consoles have received. */
  bytes(): number
  /** Number of `gap` events that the consoles have received. Each reports that items were not delivered. */
  gaps(): number
  close(): Promise<void>
}

export async function live(): Promise<Figure[]> {
  const generator = startGenerator()
  const prepared = await prepareData(load.connections)
  const environment = {
    WAYPOST_LIVE_STREAMS_PER_CALLER: String(consoleCount),
    WAYPOST_HTTP_CONNECTIONS_PER_ADDRESS: '1000',
  }
  const bench = await startBenchPlatform('platform', prepared, environment)
  try {
    const without: LoadFigures[] = []
    const watched: LoadFigures[] = []
    let [bytes, gaps] = [0, 0]
    // Idle consoles are measured before the load, because the background work of the load continues after the load has ended.
    const idle = await withoutLoad(bench, prepared.tokens)
    await measure(generator, bench, load, seconds)
    // The two cases alternate, because the load of the machine changes over time.
    for (let round = 0; round < rounds; round++) {
      without.push(await measure(generator, bench, load, seconds))
      const consoles = await openConsoles(bench.platform.baseUrl, await bench.token(), prepared.tokens)
      watched.push(await measure(generator, bench, load, seconds))
      bytes += consoles.bytes()
      gaps += consoles.gaps()
      await consoles.close()
    }
    return [...idle, ...figuresOf(without, watched, bytes, gaps)]
  } finally {
    generator.stop()
    await bench.stop()
    removeDirectory(prepared.directory)
  }
}

/**
 * Measures open consoles without load. Before the measurement, they are opened and closed once, because the first streams compile code and
 * fill caches.
 */
async function withoutLoad(bench: BenchPlatform, tokens: string[]): Promise<Figure[]> {
  const { pid, baseUrl } = bench.platform
  const open = async () => await openConsoles(baseUrl, await bench.token(), tokens)
  /** Returns the milliseconds of processor time in a second. */
  const measureUse = async () => {
    const before = cpuSeconds(pid)
    await sleep(seconds * 1000)
    return ((cpuSeconds(pid) - before) * 1000) / seconds
  }
  await (await open()).close()
  const [cpuWithout, memoryWithout] = [await measureUse(), memoryMb([pid])]
  const consoles = await open()
  const [cpuWith, memoryWith] = [await measureUse(), memoryMb([pid])]
  await consoles.close()
  const each = `each of ${consoleCount} open consoles without load`
  return [
    { name: `Memory for ${each}`, value: ((memoryWith - memoryWithout) * 1024) / consoleCount, unit: 'KB' },
    { name: 'Processor time of a node without consoles', value: cpuWithout, unit: 'ms/s' },
    { name: `Processor time for ${each}`, value: (cpuWith - cpuWithout) / consoleCount, unit: 'ms/s' },
  ]
}

/**
 * Builds the figures under load. Returns no figures with `BENCH_ROUNDS=0`, because the bench then measures only open consoles without load.
 */
function figuresOf(without: LoadFigures[], watched: LoadFigures[], bytes: number, gaps: number): Figure[] {
  if (watched.length === 0) return []
  const ratios = (figureOf: (figures: LoadFigures) => number) =>
    watched.map((one, turn) => figureOf(one) / figureOf(without[turn]!))
  const rate = (figures: LoadFigures[]) => median(figures.map(({ perSecond }) => perSecond))
  const names = `${consoleCount} consoles`
  /** Microseconds of processor time for a message. */
  const cost = (figures: LoadFigures[]) => median(figures.map(({ perCore }) => 1_000_000 / perCore))
  const kibibytes = bytes / watched.length / 1024
  return [
    { name: 'Messages of devices without live streams', value: rate(without), unit: '/s' },
    { name: `Messages of devices while ${names} watch`, value: rate(watched), unit: '/s' },
    {
      name: '… against the rate without live streams',
      value: median(ratios(({ perSecond }) => perSecond)),
      unit: 'times',
      limit: { min: 0.95 },
    },
    {
      name: '… messages in a second of processor time, relative to the case without live streams',
      value: median(ratios(({ perCore }) => perCore)),
      unit: 'times',
      limit: { min: 0.95 },
    },
    { name: 'Processor time for a message without live streams', value: cost(without), unit: 'µs' },
    { name: `Processor time for a message while ${names} watch`, value: cost(watched), unit: 'µs' },
    {
      name: `Processor time for each of ${names} under load`,
      value: ((cost(watched) - cost(without)) * rate(watched)) / 1000 / consoleCount,
      unit: 'ms/s',
    },
    { name: `Received by each of ${names} under load`, value: kibibytes / consoleCount / turnSeconds, unit: 'KiB/s' },
    { name: '`gap` events, each for items that a console did not receive', value: gaps, unit: 'in all rounds' },
  ]
}

/**
 * Returns the subscriptions of a console that shows both the page of one endpoint and the overview (alerts, jobs, refusals and counts). The
 * page of an endpoint reads its lists again after a change, so it requests only the newest items. BENCH_ALL_ITEMS=yes requests all items.
 */
const subscriptionsOf = (token: string) => {
  const endpointIds = [`bench-${token}`]
  return [
    { id: 'traffic', topic: 'traffic', endpointIds, newestOnly },
    { id: 'points', topic: 'series', applicationName, endpointIds, newestOnly },
    { id: 'connection', topic: 'connection', endpointIds },
    { id: 'alerts', topic: 'alerts' },
    { id: 'jobs', topic: 'jobs' },
    { id: 'refusals', topic: 'refusals' },
    { id: 'counts', topic: 'counts', by: ['version'] },
  ]
}

/**
 * Counts how often a text occurs in bytes. The bytes are not decoded, because that would take processor time from the devices and the
 * database.
 */
function occurrences(bytes: Buffer, text: string): number {
  let count = 0
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) count++
  return count
}

async function openConsoles(baseUrl: string, accessToken: string, tokens: string[]): Promise<Consoles> {
  let [bytes, gaps, active] = [0, 0, 0]
  const subscriptionCount = consoleCount * subscriptionsOf('').length
  const requests: ClientRequest[] = []
  for (let n = 0; n < consoleCount; n++) {
    const outgoing = request(`${baseUrl}/live/api/v1/streams`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
    })
    outgoing.on('response', (response) => {
      if (response.statusCode !== 200) throw new Error(`a stream was answered with ${response.statusCode}`)
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        gaps += occurrences(chunk, 'event: gap')
        if (active < subscriptionCount) active += occurrences(chunk, 'event: subscribed')
      })
    })
    outgoing.on('error', () => {}) // the bench closes the connection at its end
    outgoing.end(
      JSON.stringify({ subscriptions: subscriptionsOf(tokens[n * Math.floor(tokens.length / consoleCount)]!) }),
    )
    requests.push(outgoing)
  }
  for (let waited = 0; active < subscriptionCount; waited += 50) {
    if (waited > 30_000) throw new Error(`${active} of ${subscriptionCount} subscriptions are active`)
    await sleep(50)
  }
  return {
    bytes: () => bytes,
    gaps: () => gaps,
    async close() {
      for (const one of requests) one.destroy()
      await sleep(500)
    },
  }
}
