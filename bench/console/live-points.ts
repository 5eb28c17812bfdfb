/**
 * Measures a dashboard that draws 500 points a second for some minutes. The heap must not grow, and the page must have got every point that
 * the API lists at the end.
 */
import { sleep } from '../../src/kernel/clock.ts'
import { client } from '../../test/harness/client.ts'
import { settled } from '../../test/harness/console.ts'
import { applicationName, versionNames } from '../register/bench-platform.ts'
import { type Figure, median } from '../report.ts'
import { type BenchConsole, heapBytes } from './open.ts'

/** Duration of the measurement. BENCH_SECONDS sets a shorter duration for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 600)
const seriesCount = 10
const messagesPerSecond = 50
/**
 * Number of measurements of the heap. In the first third of the time the heap grows, because the shown period is not yet filled with
 * points, so only the second and the last third are compared.
 */
const samples = 12
const endpointId = 'live-points'

const nameOf = (at: number) => `auto~s${at}`

/** Counts the points that the shared worker delivers to the page, and the `gap` events, which report that points were not delivered. */
const countPoints = `(() => {
  window.received = { points: new Set(), gaps: 0 }
  const Native = SharedWorker
  window.SharedWorker = class extends Native {
    constructor(...given) {
      super(...given)
      this.port.addEventListener('message', ({ data }) => {
        const event = data.kind === 'event' ? data.event : undefined
        if (event?.type === 'gap') window.received.gaps++
        if (event?.type !== 'items') return
        for (const { seriesName, timestamp } of event.items)
          if (seriesName !== undefined) window.received.points.add(seriesName + ' ' + Date.parse(timestamp))
      })
    }
  }
})()`

export async function livePoints(bench: BenchConsole): Promise<Figure[]> {
  const { ask, browser, address, platform } = bench
  const registration = await ask('POST /epr/api/v1/endpoints', { endpointId, appVersion: { name: versionNames[0] } })
  if (registration.status !== 201) throw new Error(registration.text)
  const dashboard = await ask('POST /dashboards/api/v1/dashboards', { name: 'Live points', definition })
  if (dashboard.status !== 201) throw new Error(dashboard.text)
  const device = client(platform.baseUrl)
  const path = `POST /kp1/${versionNames[0]}/dcx/${registration.body.token}/json`
  const send = async (n: number) => {
    const sample = Object.fromEntries(Array.from({ length: seriesCount }, (_, at) => [`s${at}`, n + at]))
    const answer = await device(path, sample)
    if (answer.status !== 200) throw new Error(answer.text)
  }
  await send(0)
  const page = await browser.newPage()
  await page.addInitScript(countPoints)
  await page.goto(address(`/dashboards/${dashboard.body.dashboardId}`))
  await settled(page)
  await page.getByRole('slider').first().waitFor()
  // The subscription becomes active after the page is drawn, so the bench sends points until the page has received a point.
  const receivedCount = () => page.evaluate<number>('window.received.points.size')
  for (let n = -1; (await receivedCount()) < seriesCount; n--) {
    await send(n)
    await sleep(200)
  }
  const session = await page.context().newCDPSession(page)
  const fromMs = Date.now()
  const began = performance.now()
  const heaps: number[] = []
  let sent = 0
  while (performance.now() - began < seconds * 1000) {
    const due = Math.floor(((performance.now() - began) / 1000) * messagesPerSecond)
    const missing = Math.min(due - sent, messagesPerSecond)
    await Promise.all(Array.from({ length: Math.max(0, missing) }, (_, at) => send(sent + at + 1)))
    sent += Math.max(0, missing)
    if (performance.now() - began > (heaps.length + 1) * ((seconds * 1000) / samples))
      heaps.push(await heapBytes(session))
    await sleep(1000 / messagesPerSecond)
  }
  const tookSeconds = (performance.now() - began) / 1000
  const stored = await pointsOf(bench, fromMs)
  let lost = stored
  for (let waited = 0; waited < 10_000 && lost.length > 0; waited += 250) {
    await sleep(250)
    const keys = JSON.parse(await page.evaluate<string>('JSON.stringify([...window.received.points])')) as string[]
    const received = new Set(keys)
    lost = stored.filter((key) => !received.has(key))
  }
  const gaps = await page.evaluate<number>('window.received.gaps')
  await page.close()
  const third = Math.floor(heaps.length / 3)
  const [secondThird, lastThird] = [median(heaps.slice(third, 2 * third)), median(heaps.slice(2 * third))]
  const name = `Live points for ${Math.round(tookSeconds)} s`
  return [
    { name: `${name}: stored`, value: stored.length / tookSeconds, unit: 'points/s' },
    { name: `${name}: heap in the second third`, value: secondThird / 2 ** 20, unit: 'MiB' },
    {
      name: `${name}: heap in the last third, against the second`,
      value: lastThird / secondThird,
      unit: 'times',
      limit: { max: 1.1 },
    },
    {
      name: `${name}: points of the API that the page did not get`,
      value: lost.length,
      unit: 'points',
      limit: { max: 0 },
    },
    { name: `${name}: gaps`, value: gaps, unit: 'gaps', limit: { max: 0 } },
  ]
}

const definition = {
  variables: [{ name: 'when', kind: 'time', value: 'PT1M' }],
  widgets: [
    {
      ...{ kind: 'chart', id: 'points', title: 'Points', x: 0, y: 0, width: 24, height: 10 },
      series: Array.from({ length: seriesCount }, (_, at) => ({ endpoint: endpointId, timeSeries: nameOf(at) })),
    },
  ],
}

/** Length of the period whose points are read with one request. */
const sliceMs = 60_000

/** Returns every stored point since a time, as `<series> <milliseconds>`. */
async function pointsOf({ ask }: BenchConsole, fromMs: number): Promise<string[]> {
  const found = new Set<string>()
  const toMs = Date.now()
  for (let at = 0; at < seriesCount; at++)
    for (let from = fromMs; from < toMs; from += sliceMs) {
      const period = { fromDate: String(from), toDate: String(Math.min(from + sliceMs, toMs)) }
      const query = new URLSearchParams({ endpointId, timeSeriesName: nameOf(at), ...period })
      const answer = await ask(`GET /epts/api/v1/applications/${applicationName}/time-series/data?${query}`)
      if (answer.status !== 200) throw new Error(answer.text)
      const pages = answer.body as Record<string, Record<string, { timestamp: string }[]>>[]
      for (const byEndpoint of pages)
        for (const { timestamp } of byEndpoint[endpointId]?.[nameOf(at)] ?? [])
          found.add(`${nameOf(at)} ${Date.parse(timestamp)}`)
    }
  return [...found]
}
