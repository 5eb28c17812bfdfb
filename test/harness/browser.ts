/** Starts a real browser (Chromium) for tests of the console and the sign-in pages. */
import { rmSync } from 'node:fs'
import { type BrowserContext, chromium } from 'playwright-core'
import { afterAllTests, temporaryDirectory } from './database.ts'

export async function openBrowser(): Promise<BrowserContext> {
  const profile = temporaryDirectory('waypost-browser-')
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: '/usr/bin/chromium',
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
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
