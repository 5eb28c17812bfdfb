/**
 * Measures the time from the readiness of the platform until the sign-in page is there: when the files of the console are built, and when
 * they are already built.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '../../src/assembly/console/console.ts'
import { hashSources } from '../../src/assembly/console/sources.ts'
import { openBrowser } from '../../test/harness/browser.ts'
import { startPlatform, withTemporaryDirectory } from '../platform.ts'
import { type Figure, median } from '../report.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 3)

export async function signInPage(): Promise<Figure[]> {
  const browser = await openBrowser()
  const built = join(cacheFolder(''), await hashSources())
  /** Returns the seconds until the page shows the field of the password. */
  const open = (directory: string) =>
    withPlatform(directory, async (baseUrl) => {
      const began = performance.now()
      const page = await browser.newPage()
      await page.goto(`${baseUrl}/console/default`)
      await page.getByLabel(/password/i).waitFor()
      const seconds = (performance.now() - began) / 1000
      await page.close()
      return seconds
    })
  return await withTemporaryDirectory(async (directory) => {
    const [first, later]: [number[], number[]] = [[], []]
    // The first start creates the database, which is not measured.
    await open(directory)
    for (let round = 0; round < rounds; round++) {
      rmSync(built, { recursive: true, force: true })
      first.push(await open(directory))
      later.push(await open(directory))
    }
    await browser.close()
    return [
      {
        name: 'Sign-in page after readiness, including the build of the files',
        value: median(first),
        unit: 's',
        limit: { max: 6 },
      },
      {
        name: 'Sign-in page after readiness, the files are already built',
        value: median(later),
        unit: 's',
        limit: { max: 1 },
      },
    ]
  })
}

async function withPlatform<T>(directory: string, work: (baseUrl: string) => Promise<T>): Promise<T> {
  const platform = await startPlatform(directory)
  try {
    return await work(platform.baseUrl)
  } finally {
    await platform.stop()
  }
}
