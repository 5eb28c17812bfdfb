/**
 * Starts a real browser (Chromium) for tests of the console and the sign-in pages. The browser can reach only this machine. If it requests
 * anything from another host, the test fails.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { afterEach } from 'node:test'
import { type BrowserContext, chromium } from 'playwright-core'
import { afterAllTests, temporaryDirectory } from './database.ts'
import { startRefusingProxy, takeRefused } from './refusing-proxy.ts'

afterEach(() => assert.deepEqual(takeRefused(), [], 'requests of the browser to other hosts'))

export async function openBrowser(): Promise<BrowserContext> {
  const proxy = await startRefusingProxy()
  const profile = temporaryDirectory('waypost-browser-')
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      `--proxy-server=${proxy}`,
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  context.setDefaultTimeout(60_000)
  afterAllTests(async () => {
    await context.close()
    rmSync(profile, { recursive: true, force: true })
  })
  return context
}
