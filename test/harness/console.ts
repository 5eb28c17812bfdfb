/** Opens the web console in a real browser, and records errors, failed requests and violations of the content security policy. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterEach } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { openBrowser } from './browser.ts'
import { bearer, client, tokenOf } from './client.ts'
import { eventually } from './eventually.ts'
import { type PlatformOptions, type RunningPlatform, startPlatform } from './platform.ts'

export interface TestConsole {
  platform: RunningPlatform
  browser: BrowserContext
  /** Calls the API as the administrator of the tenant: `api('GET /iam/api/v1/me')`. */
  api: ReturnType<typeof client>
  /** Address for a path in the console: `/endpoints`. */
  address(path: string): string
  /** Opens a page. The first call also signs in. */
  open(path: string): Promise<Page>
  /** Errors of scripts, violations of the content security policy, failed requests, and requests to other hosts. */
  problems: string[]
  /** Adds a pattern of expected problems. A problem that matches the pattern is not recorded. */
  expect(pattern: RegExp): void
}

const axe = readFileSync(resolve(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8')

const consoles: Pick<TestConsole, 'browser' | 'problems'>[] = []

// The error of an exceeded time limit does not show the contents of the page, so the text of all pages is logged after a failed test.
afterEach(async (context) => {
  // The types of Node.js do not have this field yet.
  if ((context as unknown as { passed: boolean }).passed) return
  for (const { browser, problems } of consoles) {
    for (const page of browser.pages())
      console.error(page.url(), await page.locator('body').innerText({ timeout: 5000 }))
    console.error('Problems:', problems)
  }
})

export async function openConsole(options: PlatformOptions = {}): Promise<TestConsole> {
  const [platform, browser] = await Promise.all([startPlatform(options), openBrowser()])
  const { admin, frontendClient, tenantId } = platform.bootstrap.default
  const { username, password = '' } = admin
  const token = await tokenOf(platform.baseUrl, tenantId, {
    grant_type: 'password',
    client_id: frontendClient.id,
    username,
    password,
  })
  const problems: string[] = []
  const expected: RegExp[] = []
  const record = (problem: string) => {
    if (!expected.some((pattern) => pattern.test(problem))) problems.push(problem)
  }
  browser.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') record(`request to another host: ${request.url()}`)
  })
  browser.on('console', (message) => {
    if (message.type() === 'error') record(`console: ${message.text()} ${message.location().url}`)
  })
  browser.on('weberror', (error) => record(`script: ${error.error().stack ?? error.error().message}`))
  const address = (path: string) => `${platform.baseUrl}/console/${tenantId}${path}`
  consoles.push({ browser, problems })
  // After its start, the platform searches for a build of the console. On a busy machine this takes seconds, and the response is 503 until
  // then.
  await eventually(async () => assert.equal((await fetch(address('/'))).status, 200), { withinMs: 60_000 })

  async function open(path: string): Promise<Page> {
    const page = await browser.newPage()
    await page.goto(address(path))
    await page.locator('#page-title, #login, form').first().waitFor()
    if (!page.url().includes('/auth/realms/')) return page
    await signIn(page, username, password)
    return page
  }
  return {
    platform,
    browser,
    api: client(platform.baseUrl, bearer(token)),
    address,
    open,
    problems,
    expect: (pattern) => void expected.push(pattern),
  }
}

/** Fills in the sign-in page, and waits for the console. */
export async function signIn(page: Page, username: string, password: string) {
  await page.getByLabel(/user/i).fill(username)
  await page.getByLabel(/password/i).fill(password)
  await page.getByRole('button').click()
  await page.locator('#page-title').waitFor()
}

/** Waits until nothing on the page is being loaded. */
export async function settled(page: Page) {
  await page.locator('#page-title').waitFor()
  // `waitForFunction` cannot be used here: it evaluates a text in the page, which the content security policy forbids.
  await page.locator('.skeleton, .is-old').first().waitFor({ state: 'detached' })
}

/** Waits until the page shows all its parts. A part may begin to load after another part is shown, such as a chart after its first point. */
async function allShown(page: Page) {
  do {
    await settled(page)
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 300))')
  } while ((await page.locator('.skeleton, .is-old').count()) > 0)
}

interface Finding {
  id: string
  nodes: { html: string; failureSummary: string }[]
}

/**
 * Accessibility rules whose result depends on the colours of the theme. All other rules check the document, which is the same in both
 * themes.
 */
const colorRules = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }
const allRules = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }

/** The navigation is the same on every page and has more elements than most pages, so it is checked only once. */
let navigationChecked = false

/**
 * Checks the accessibility of the page, or of the element `within`: all rules in the light theme, and the rules about colours in the dark
 * theme.
 */
export async function checkAccessibility(page: Page, name: string, within?: string) {
  const session = await page.context().newCDPSession(page)
  const whole = { exclude: navigationChecked ? [['.sidebar'], ['.topbar']] : [] }
  const context = within === undefined ? whole : { include: [[within]] }
  if (within === undefined) navigationChecked = true
  // The content security policy of the page forbids scripts of other origins, so the test runs axe through the debugger protocol.
  const { result: present } = await session.send('Runtime.evaluate', { expression: 'typeof axe' })
  if (present.value === 'undefined') await session.send('Runtime.evaluate', { expression: axe })
  for (const [colorScheme, runOnly] of [
    ['light', allRules],
    ['dark', colorRules],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.locator(`html[data-theme=${colorScheme}]`).waitFor({ state: 'attached' })
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)))')
    const { result } = await session.send('Runtime.evaluate', {
      expression: `axe.run(${JSON.stringify(context)}, { runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations'] })
        .then(({ violations }) => JSON.stringify(violations))`,
      awaitPromise: true,
      returnByValue: true,
    })
    const findings = (JSON.parse(result.value as string) as Finding[]).map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
    )
    assert.deepEqual(findings, [], `axe, ${name}, ${colorScheme}`)
  }
  await session.detach()
  await page.emulateMedia({ colorScheme: null, reducedMotion: null })
}

/**
 * Finds elements beyond the right edge that no ancestor scrolls. The script is a text, because the tests are compiled without the types of
 * browsers.
 */
const elementsOutside = `(() => {
  const scrolls = (element) =>
    element !== null && (/auto|scroll|hidden/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement))
  return [...document.querySelectorAll('body *')]
    .filter((element) => {
      const { right, width, height } = element.getBoundingClientRect()
      return width > 1 && height > 1 && right > innerWidth + 1 && !scrolls(element.parentElement)
    })
    .map((element) => element.outerHTML.slice(0, 120))
})()`

/** Finds table cells that are too narrow for the longest relative time. */
const cutTimes = `[...document.querySelectorAll('.table-cell time')].flatMap((time) => {
  const [text, before] = [time.firstChild, time.textContent]
  text.data = '59 minutes ago'
  const cell = time.closest('.table-cell')
  const isCut = cell.scrollWidth > cell.clientWidth
  text.data = before
  return isCut ? [cell.dataset.title + ': ' + cell.clientWidth + ' pixels'] : []
})`

/** Checks that tables show the longest possible time without truncating it, on a screen of usual width. */
export async function checkTimes(page: Page, name: string) {
  assert.deepEqual(await page.evaluate(cutTimes), [], `times that do not fit into their table cells: ${name}`)
}

/** Finds filter conditions above a list that are wider than their space, so that they cover each other. */
const wideConditions = `[...document.querySelectorAll('.filter-bar > *')]
  .filter((field) => field.scrollWidth > field.clientWidth + 1)
  .map((field) => field.textContent.slice(0, 60))`

/** Finds selected tabs that are not in the visible part of their bar, and contents of table cells that the title of the column covers. */
const misplaced = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve([
  ...[...document.querySelectorAll('.tab[aria-current]')].filter((tab) => {
    const [inner, outer] = [tab, tab.closest('ul')].map((element) => element.getBoundingClientRect())
    return inner.left < outer.left - 1 || inner.right > outer.right + 1
  }),
  ...[...document.querySelectorAll('.table-body .table-cell:not(.table-check) > *')].filter((part) =>
    part.checkVisibility() && part.getBoundingClientRect().left < part.parentElement.getBoundingClientRect().left + 60),
].map((element) => element.outerHTML.slice(0, 120))))))`

/** Measures how far the window and the page can be scrolled beyond their contents, in pixels. */
const emptySpace = `(() => {
  const content = document.querySelector('.content')
  if (content === null) return [0, 0]
  const { bottom } = content.lastElementChild.getBoundingClientRect()
  return [document.documentElement.scrollHeight - innerHeight,
    content.scrollHeight - Math.max(content.clientHeight, bottom - content.getBoundingClientRect().top + content.scrollTop)]
})()`

/** Checks that nothing is cut off at a width of 320 pixels, which is 400 % zoom on a usual screen. */
export async function checkNarrow(page: Page, name: string) {
  const before = page.viewportSize()
  await page.setViewportSize({ width: 320, height: 640 })
  const outside = await page.evaluate(elementsOutside)
  const wide = await page.evaluate(wideConditions)
  assert.deepEqual(await page.evaluate(misplaced), [], `misplaced at 320 pixels: ${name}`)
  const scrollWidth = await page.evaluate<number>('document.documentElement.scrollWidth')
  assert.deepEqual(outside, [], `wider than 320 pixels: ${name}`)
  assert.deepEqual(wide, [], `conditions cover each other at 320 pixels: ${name}`)
  assert.ok(scrollWidth <= 320, `${name} scrolls sideways: ${scrollWidth}`)
  const [window, content] = await page.evaluate<[number, number]>(emptySpace)
  assert.ok(
    window <= 1 && content <= 1,
    `${name} scrolls to empty space: ${window} pixels, in the page ${content} pixels`,
  )
  await page.setViewportSize(before ?? { width: 1280, height: 800 })
}

/**
 * Environment variable with a folder into which the test of pages writes pictures: `TEST_PICTURES=docs/images/console npm test --
 * test/console/pages`.
 */
const picturesVariable = 'TEST_PICTURES'
export const takesPictures = process.env[picturesVariable] !== undefined

/** Takes three pictures of the page: in the light theme, in the dark theme, and on a narrow screen. */
export async function takePictures(page: Page, name: string) {
  const folder = process.env[picturesVariable]
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  const file = name.replace(/[^\w]+/g, '-').replace(/^-|-$/g, '') || 'overview'
  const session = await page.context().newCDPSession(page)
  for (const [look, colorScheme, width, height] of [
    ['light', 'light', 1280, 800],
    ['dark', 'dark', 1280, 800],
    ['narrow', 'light', 320, 640],
  ] as const) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await allShown(page)
    // The picture is taken through the debugger protocol, because Playwright cannot write WebP, which takes a third of the bytes of PNG.
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 })
    writeFileSync(resolve(folder, `${file}-${look}.webp`), Buffer.from(data, 'base64'))
  }
  await session.detach()
  await page.emulateMedia({ colorScheme: null, reducedMotion: null })
  await page.setViewportSize({ width: 1280, height: 800 })
}
