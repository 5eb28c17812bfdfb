/** Redraws the chart of the console with ten series of 100,000 points, and compares it with uPlot alone on the same data. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { build } from 'esbuild'
import { openBrowser } from '../../test/harness/browser.ts'
import { type Figure, median } from '../report.ts'

const seriesCount = 10
const points = 100_000
const rounds = 20

/**
 * A page that draws the chart again and again, each time with new values. It is a text of plain JavaScript, because the bench is compiled
 * without the types of browsers.
 */
const source = `
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
import { flushSync } from 'react-dom'
import uPlot from 'uplot'
import Chart from './console/src/parts/chart.tsx'

const times = Array.from({ length: ${points} }, (_, at) => 1_750_000_000_000 + at * 1000)
const valuesOf = (round, series) => times.map((_, at) => Math.sin(at / 500 + series) * 10 + round)
const host = document.getElementById('chart')
const root = createRoot(host)
const drawn = async () => { await Promise.resolve(); await Promise.resolve() }

window.measure = async (rounds) => {
  const [ours, alone] = [[], []]
  const plot = new uPlot({ width: 900, height: 260, series: [{}, ...Array.from({ length: ${seriesCount} }, () => ({ stroke: 'teal' }))] },
    [[], ...Array.from({ length: ${seriesCount} }, () => [])], document.getElementById('alone'))
  const seconds = times.map((ms) => ms / 1000)
  for (let round = 0; round < rounds; round++) {
    const columns = Array.from({ length: ${seriesCount} }, (_, series) => valuesOf(round, series))
    const series = columns.map((values, at) => ({ name: 'series ' + at, times, values }))
    await new Promise(requestAnimationFrame)
    const began = performance.now()
    flushSync(() => root.render(createElement(Chart, { name: 'Chart', series })))
    await drawn()
    ours.push(performance.now() - began)
    await new Promise(requestAnimationFrame)
    const aloneBegan = performance.now()
    plot.setData([seconds, ...columns])
    await drawn()
    alone.push(performance.now() - aloneBegan)
  }
  return { ours, alone }
}`

export async function charts(): Promise<Figure[]> {
  const { outputFiles } = await build({
    stdin: { contents: source, loader: 'js', resolveDir: resolve(import.meta.dirname, '../..') },
    ...{
      bundle: true,
      write: false,
      minify: true,
      format: 'esm',
      jsx: 'automatic',
      define: { 'process.env.NODE_ENV': '"production"' },
    },
  })
  const script = outputFiles[0]!.text
  const server = createServer((request, response) => {
    const isScript = request.url === '/chart.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(
      isScript
        ? script
        : '<div id="chart" style="width:900px"></div><div id="alone"></div><script type="module" src="/chart.js"></script>',
    )
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  try {
    const browser = await openBrowser()
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const { ours, alone } = await page.evaluate<{ ours: number[]; alone: number[] }>(`window.measure(${rounds + 1})`)
    await page.close()
    // The first round is left out, because it creates the chart.
    const [chart, plot] = [median(ours.slice(1)), median(alone.slice(1))]
    const name = `Chart of ${seriesCount} series with ${points} points each`
    return [
      { name: `${name}: redrawn`, value: chart, unit: 'ms', limit: { max: 50 } },
      { name: `${name}: redrawn by uPlot alone`, value: plot, unit: 'ms' },
      { name: `${name}: against uPlot alone`, value: chart / plot, unit: 'times' },
    ]
  } finally {
    server.close()
  }
}
