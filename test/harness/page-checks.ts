/**
 * Tests pages of the console: their heading, their accessibility in the light and dark themes, their layout at 320 pixels, and that they
 * cause no error and no request to another host.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  checkAccessibility,
  checkNarrow,
  checkTimes,
  openConsole,
  settled,
  type TestConsole,
  takePictures,
  takesPictures,
} from './console.ts'
import { checkOverlays } from './overlays.ts'
import { makePageData, type PageIds } from './page-data.ts'
import { makeFleet } from './picture-data.ts'

/** Path and heading of a page. `{ada}` in the path is replaced by the generated id. */
export type TestedPage = [path: string, heading: string | RegExp]

/** Declares a test for each page. The tests of one call share a platform and a browser. */
export function testPages(pages: { followed: TestedPage[]; loaded?: TestedPage[] }) {
  let console_: TestConsole
  let page: Page
  let ids: PageIds

  before(async () => {
    console_ = await openConsole()
    // 409: the test of menus and dialogs rejects all changes. 502: the LoRaWAN network of the test does not exist.
    console_.expect(/status of (?:409|502)/)
    ids = await makePageData(console_)
    if (takesPictures) await makeFleet(console_)
    page = await console_.open('/')
  })

  /** Opens an address within the console, as a link does, because loading the whole console for each page would take most of the time. */
  const follow = (address: string) => page.evaluate(`history.pushState(null, '', ${JSON.stringify(address)})`)
  const load = (address: string) => page.goto(address)

  /** Leaves a page and opens it again, so that menus and dialogs that were opened on it are gone. */
  async function reopen(open: () => Promise<void>) {
    await follow(console_.address('/account'))
    await page.getByRole('heading', { level: 1, name: 'Your account' }).waitFor()
    await open()
  }

  for (const [visit, list] of [
    [follow, pages.followed],
    [load, pages.loaded ?? []],
  ] as const)
    for (const [path, heading] of list)
      test(`${visit === load ? 'loaded: ' : ''}${path} is accessible, fits a narrow screen, and has no errors`, async () => {
        const address = console_.address(path.replace(/\{(\w+)\}/g, (_, name: string) => String(ids[name])))
        const open = async () => {
          await visit(address)
          await page.getByRole('heading', { level: 1, name: heading }).waitFor()
          await settled(page)
        }
        await open()
        await checkAccessibility(page, path)
        await checkTimes(page, path)
        await checkNarrow(page, path)
        await takePictures(page, path)
        assert.deepEqual(console_.problems, [])
        if (visit === follow && !takesPictures) await checkOverlays({ page, name: path, openAgain: () => reopen(open) })
        assert.deepEqual(console_.problems, [])
      })
}
