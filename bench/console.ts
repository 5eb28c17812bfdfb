/** Measures the web console in Chromium with many endpoints: bytes, opening of pages, scrolling, charts, and live points. */
import { runCleanups } from '../test/harness/database.ts'
import { bytes } from './console/bytes.ts'
import { charts } from './console/charts.ts'
import { livePoints } from './console/live-points.ts'
import { type BenchConsole, openBenchConsole } from './console/open.ts'
import { opening } from './console/opening.ts'
import { scrolling } from './console/scrolling.ts'
import { signInPage } from './console/sign-in-page.ts'
import { once, runParts } from './parts.ts'
import type { Figure } from './report.ts'

export async function console_(): Promise<Figure[]> {
  const opened = once(openBenchConsole)
  const withConsole = (work: (bench: BenchConsole) => Promise<Figure[]>) => async () => await work(await opened())
  try {
    return await runParts({
      bytes,
      'sign-in-page': signInPage,
      charts,
      opening: withConsole(opening),
      scrolling: withConsole(scrolling),
      'live-points': withConsole(livePoints),
    })
  } finally {
    if (opened.isCalled()) await (await opened()).close()
    await runCleanups()
  }
}
