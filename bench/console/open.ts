/** Starts the platform with many endpoints, and a browser in which the administrator is signed in. */
import type { BrowserContext, CDPSession } from 'playwright-core'
import { openBrowser } from '../../test/harness/browser.ts'
import { signIn } from '../../test/harness/console.ts'
import { type BenchPlatform, openBenchPlatform } from '../register/bench-platform.ts'
import { fill, settle } from '../register/endpoints.ts'
import { fillDirectory } from '../register/fill-directory.ts'

/** Number of endpoints on the platform. BENCH_ENDPOINTS sets fewer endpoints for a quick run. */
export const endpoints = Number(process.env.BENCH_ENDPOINTS ?? 1_000_000)

export interface BenchConsole extends BenchPlatform {
  browser: BrowserContext
  /** Address for a path in the console: `/endpoints`. */
  address(path: string): string
}

export async function openBenchConsole(): Promise<BenchConsole> {
  const bench = await openBenchPlatform()
  await fill(bench, 1, endpoints, { tokens: false })
  await fillDirectory(bench)
  await settle(bench)
  const browser = await openBrowser()
  const { platform, tenantId } = bench
  const address = (path: string) => `${platform.baseUrl}/console/${tenantId}${path}`
  const page = await browser.newPage()
  await page.goto(address('/'))
  const { username, password = '' } = platform.bootstrap.default.admin
  await signIn(page, username, password)
  await page.close()
  return { ...bench, browser, address }
}

/** Returns the bytes of the heap after garbage collection. */
export async function heapBytes(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage')
  const { usedSize } = await session.send('Runtime.getHeapUsage')
  return usedSize
}
