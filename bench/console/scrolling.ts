/** Scrolls through many rows of the list of endpoints. Measures frame times, rows in the document, and the heap afterwards. */
import { settled } from '../../test/harness/console.ts'
import { quantile } from '../register/measure.ts'
import type { Figure } from '../report.ts'
import { type BenchConsole, heapBytes } from './open.ts'

/** Number of rows to scroll through. BENCH_ROWS sets fewer rows for a quick run. */
const rows = Number(process.env.BENCH_ROWS ?? 10_000)

/**
 * The page that is open before and after the list. Chromium keeps removed form fields in memory, so this page must have few form fields.
 * The page of the account, for example, has a field with more than 400 time zones.
 */
const otherPage = '/vpn'

const warmUps = 4
/**
 * Number of rows of the warm-up. With so many rows, the console drops rows of distant pages, so the code for this is compiled before the
 * measurement.
 */
const warmUpRows = 1_500

/** Scrolls by half a page in each frame, and waits while the next rows are not loaded. */
const scroll = `async (rows) => {
  const scroller = document.querySelector('.table-scroll')
  const frames = []
  let mostRows = 0
  let last = await new Promise(requestAnimationFrame)
  for (let stuck = 0; stuck < 600; ) {
    const before = scroller.scrollTop
    scroller.scrollTop += scroller.clientHeight / 2
    const now = await new Promise(requestAnimationFrame)
    frames.push(now - last)
    last = now
    mostRows = Math.max(mostRows, document.querySelectorAll('.table-body [role=row]').length)
    const lastRow = [...document.querySelectorAll('.table-body [role=row]')].at(-1)
    if (Number(lastRow?.getAttribute('aria-rowindex') ?? 0) >= rows) break
    stuck = scroller.scrollTop === before ? stuck + 1 : 0
  }
  const lastRow = [...document.querySelectorAll('.table-body [role=row]')].at(-1)
  return { frames, mostRows, reached: Number(lastRow?.getAttribute('aria-rowindex') ?? 0) }
}`

interface Scrolled {
  frames: number[]
  mostRows: number
  reached: number
}

export async function scrolling({ browser, address }: BenchConsole): Promise<Figure[]> {
  const page = await browser.newPage()
  const session = await page.context().newCDPSession(page)
  const follow = async (path: string) => {
    await page.evaluate(`history.pushState(null, '', ${JSON.stringify(address(path))})`)
    await settled(page)
  }
  await page.goto(address('/endpoints'))
  await settled(page)
  // The first visits compile the code of the page. The memory of this code must not count as memory that scrolling keeps.
  for (let visit = 0; visit < warmUps; visit++) {
    await follow(otherPage)
    await follow('/endpoints')
    await page.evaluate(`(${scroll})(${warmUpRows})`)
  }
  await follow(otherPage)
  const before = await heapBytes(session)
  await follow('/endpoints')
  await page.locator('.table-body [role=row]').first().waitFor()
  const opened = await heapBytes(session)
  const { frames, mostRows, reached } = await page.evaluate<Scrolled>(`(${scroll})(${rows})`)
  if (reached < rows) throw new Error(`scrolling ended at row ${reached} of ${rows}`)
  const atEnd = await heapBytes(session)
  await follow(otherPage)
  const after = await heapBytes(session)
  await page.close()
  const name = `Scrolling through ${rows} rows`
  return [
    { name: `${name}: frames, p99`, value: quantile(frames, 0.99), unit: 'ms', limit: { max: 100 } },
    { name: `${name}: the longest frame`, value: Math.max(...frames), unit: 'ms' },
    { name: `${name}: rows in the document`, value: mostRows, unit: 'rows', limit: { max: 60 } },
    {
      name: `${name}: heap while the last rows are shown, against the first rows`,
      value: atEnd / opened,
      unit: 'times',
      limit: { max: 1.2 },
    },
    { name: `${name}: heap before`, value: before / 2 ** 20, unit: 'MiB' },
    { name: `${name}: heap afterwards, against before`, value: after / before, unit: 'times', limit: { max: 1.2 } },
  ]
}
