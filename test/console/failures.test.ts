/** Tests of failures in the console: the page explains each failure, keeps the input, and recovers by itself. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openConsole, settled, signIn, type TestConsole } from '../harness/console.ts'
import { afterAllTests, temporaryDirectory } from '../harness/database.ts'
import { makeNewerBuild, presentBuild } from '../harness/newer-build.ts'
import { startPlatform, usedDatabase } from '../harness/platform.ts'
import { tcpProxy } from '../harness/postgres-server.ts'

let opened: TestConsole
let environment: Record<string, string>
/** While this variable is true, the proxy between the platform and its database refuses all connections. */
let isDatabaseGone = false
let adaId: string
const password = 'ada reads many meters'

before(async () => {
  const used = await usedDatabase()
  const { host, port } = used.connection as { host: string; port: number }
  const proxy = await tcpProxy(
    () => (isDatabaseGone ? undefined : { host, port }),
    () => isDatabaseGone,
  )
  afterAllTests(proxy.close)
  const address = new URL(used.environment.WAYPOST_DATABASE_URL)
  address.port = String(proxy.port)
  environment = { ...used.environment, WAYPOST_DATABASE_URL: address.href }
  opened = await openConsole({ directory: temporaryDirectory(), environment })
  // The browser logs every request that fails.
  opened.expect(/Failed to load resource|ERR_|dynamically imported module|Failed to fetch/)
  const { api } = opened
  await api('POST /api/v1/applications', { name: 'meters' })
  await api('POST /api/v1/applications/meters/app-versions', { nameSuffix: 'v1' })
  await api('POST /epr/api/v1/endpoints', { endpointId: 'meter-1', appVersion: { name: 'meters-v1' } })
  const ada = await api('POST /iam/api/v1/users', { username: 'ada', roles: ['tenant-admin'] })
  adaId = ada.body.id
  await api(`PUT /iam/api/v1/users/${adaId}/password`, { password })
  const page = await opened.browser.newPage()
  await page.goto(opened.address('/'))
  await signIn(page, 'ada', password)
  await page.close()
})

async function openTab(path: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
  const page = await opened.browser.newPage()
  await prepare?.(page)
  await page.goto(opened.address(path))
  await settled(page)
  return page
}

const banner = (page: Page, text: RegExp) => page.locator('.banner').filter({ hasText: text })

test('a rate limit and an unreachable database are explained, the key r tries again, and the page recovers by itself', async () => {
  const page = await openTab('/jobs')
  const list = /\/api\/v1\/applications(?:\?|$)/
  await page.route(list, (route) => route.fulfill({ status: 429, headers: { 'retry-after': '600' }, body: '{}' }))
  await page.getByRole('link', { name: 'Applications', exact: true }).click()
  await banner(page, /Too many requests at the moment/).waitFor()
  await page.getByText(/Try again in 600 s/).waitFor()
  await page.unroute(list)
  await page.keyboard.press('r')
  await page.getByRole('link', { name: 'meters' }).waitFor()
  await banner(page, /Too many/).waitFor({ state: 'detached' })

  const get = /\/api\/v1\/applications\/meters$/
  await page.route(get, (route) => route.fulfill({ status: 503, body: '{}' }))
  await page.getByRole('link', { name: 'meters' }).click()
  await banner(page, /cannot answer at the moment.*tries again by itself/).waitFor()
  await page.unroute(get)
  await page.getByRole('rowheader', { name: 'meters-v1' }).waitFor()
  await banner(page, /cannot answer/).waitFor({ state: 'detached' })
  await page.close()
})

test('a page keeps its data while the platform does not respond', async () => {
  const page = await openTab('/')
  const endpoint = page.getByRole('rowheader', { name: 'meter-1' })
  await endpoint.waitFor()
  const all = /\/api\/v1\/(?!me\b)/
  await page.route(all, (route) => route.fulfill({ status: 503, body: '{}' }))
  const failed = page.waitForResponse((response) => response.url().includes('/directory?') && response.status() === 503)
  await page.keyboard.press('r')
  await failed
  await banner(page, /cannot answer at the moment/).waitFor()
  assert.equal(await endpoint.count(), 1)
  assert.equal(await page.locator('main').getByText('cannot answer').count(), 0)
  await page.unroute(all)
  await page.keyboard.press('r')
  await banner(page, /cannot answer/).waitFor({ state: 'detached' })
  assert.equal(await endpoint.count(), 1)
  await page.close()
})

test('the console works in a browser that denies storage and workers', async () => {
  const page = await openTab('/endpoints/meter-1', (fresh) =>
    fresh.addInitScript(`
      const denied = () => { throw new DOMException('denied', 'SecurityError') }
      for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: denied })
      for (const name of ['SharedWorker', 'BroadcastChannel']) window[name] = class { constructor() { denied() } }`),
  )
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Applications', exact: true }).click()
  await page.getByRole('link', { name: 'meters' }).waitFor()
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('the console works in a browser of any language, and reads numbers as English numbers', async () => {
  for (const language of ['de-DE', 'ar-EG']) {
    const page = await openTab('/endpoints/meter-1?tab=commands', (fresh) =>
      fresh.addInitScript(`Object.defineProperty(navigator, 'language', { get: () => '${language}' })`),
    )
    const seconds = page.getByRole('textbox', { name: /awaitTimeout/ })
    await seconds.fill('0.5')
    await seconds.press('Tab')
    assert.equal(await seconds.inputValue(), '0.5', language)
    await page.getByRole('button', { name: /your account/i }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
    assert.deepEqual(opened.problems, [], language)
    await page.close()
  }
})

test('a wrong clock does not prevent the sign-in, and the page says by how much the clock is wrong', async () => {
  const threeHours = 3 * 3_600_000
  const page = await openTab('/endpoints', (fresh) => fresh.clock.setSystemTime(Date.now() + threeHours))
  await banner(page, /clock of this computer is (?:3 h|2 h 59 min) ahead of the platform/).waitFor()
  await page.getByRole('link', { name: 'meter-1' }).waitFor()
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('when permissions are withdrawn, open pages and live topics end immediately, with the reason', async (t) => {
  const live = await openTab('/endpoints/meter-1')
  await live.getByText('Live', { exact: true }).waitFor()
  const people = await openTab('/users')
  await people.getByRole('link', { name: 'ada' }).waitFor()
  const overview = await openTab('/')
  const began = performance.now()
  await setRoles([])
  await overview.getByText('Your user has no role and no grant').waitFor()
  await overview.close()
  for (const [page, scope] of [
    [live, 'endpoint:read'],
    [people, 'identity:user:read'],
  ] as const) {
    // The live stream announces the change. Without the stream, the page would read the permissions again only after a minute.
    await page.getByText(`It needs the scope ${scope}`).waitFor({ timeout: 10_000 })
    t.diagnostic(`${scope}: ${Math.round(performance.now() - began)} ms`)
  }
  assert.equal(await live.getByText('Live', { exact: true }).count(), 0)
  await setRoles(['tenant-admin'])
  await people.getByRole('link', { name: 'ada' }).waitFor()
  await live.getByText('Live', { exact: true }).waitFor()
  await live.close()
  await people.close()
})

const setRoles = async (roles: string[]) => {
  const { status, text } = await opened.api(`PUT /iam/api/v1/users/${adaId}/roles`, roles)
  assert.ok(status < 300, text)
}

test('a form keeps the input when the user loses the permissions for it; saving is rejected with the reason', async () => {
  const made = await opened.api('POST /re/api/v1/rules', { name: 'watch', expression: 'return 1' })
  const page = await openTab(`/rules/${made.headers.get('location')!.split('/').at(-1)}/edit`)
  const description = page.getByRole('textbox', { name: /^Description/ })
  await description.fill('a long explanation')
  const metadata = await openTab('/endpoints/meter-1?tab=metadata')
  await metadata.getByRole('button', { name: 'Add a key' }).first().click()
  await metadata.getByRole('textbox', { name: /^New key/ }).fill('site')
  await metadata.getByRole('button', { name: 'Add a key' }).click()
  await metadata.getByRole('textbox', { name: /site/ }).fill('north gate')
  const bulk = await openTab('/endpoints')
  await bulk.getByRole('checkbox', { name: 'Select all rows that are loaded' }).click()
  await bulk.getByRole('button', { name: 'Actions', exact: true }).click()
  await bulk.getByRole('menuitem', { name: 'Change metadata' }).click()
  const changes = bulk.getByRole('textbox', { name: /Changes/ })
  await changes.fill('{"site": "north"}')
  const link = await openTab(page.url().replace(/.*\/console\/[^/]+|\/edit$/g, ''))
  await link.getByRole('button', { name: 'Link a trigger' }).click()
  const linkName = link.getByRole('dialog').getByRole('textbox', { name: /^Name/ })
  await linkName.fill('a name')
  await setRoles([])
  try {
    for (const tab of [bulk, link]) await tab.getByText('You no longer have the permission for this page').waitFor()
    assert.deepEqual([await changes.textContent(), await linkName.inputValue()], ['{"site": "north"}', 'a name'])
    await page.getByText('You no longer have the permission for this page: it needs the scope rule:update').waitFor()
    await metadata.getByText('You no longer have the permission for this page').waitFor()
    assert.equal(await description.inputValue(), 'a long explanation')
    assert.ok(await description.isEditable())
    await page.getByRole('button', { name: 'Save' }).click()
    const refused = page.locator('form').getByRole('alert')
    await refused.filter({ hasText: /There is no rule .* or the caller may not read it/ }).waitFor()
    await opened.api('POST /iam/api/v1/roles', { name: 'rule-reader', scopes: ['rule:read'] })
    await setRoles(['rule-reader'])
    await page.getByRole('button', { name: 'Save' }).click()
    await refused.filter({ hasText: /Nothing was changed.*It needs the scope rule:update/ }).waitFor()
    assert.equal(await description.inputValue(), 'a long explanation')
    assert.equal(await metadata.getByRole('textbox', { name: /site/ }).inputValue(), 'north gate')

    await page.getByRole('link', { name: 'Overview' }).click()
    const ask = page.getByRole('alertdialog', { name: 'Leave without saving?' })
    await ask.getByRole('button', { name: 'Leave the page' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.goBack()
    await page.getByText('It needs the scope rule:update').waitFor()
  } finally {
    await setRoles(['tenant-admin'])
  }
  await metadata.getByText('You no longer have').waitFor({ state: 'detached' })
  await metadata.getByRole('button', { name: 'Save' }).click()
  await metadata.getByText('north gate').waitFor()
  assert.equal((await opened.api('GET /epr/api/v1/endpoints/meter-1/metadata')).body.site, 'north gate')
  assert.deepEqual(opened.problems, [])
  for (const tab of [page, metadata, bulk, link]) await tab.close()
})

test('links, tabs, keys and the back button ask before they discard unsaved input', async () => {
  const page = await openTab('/endpoints')
  const ask = page.getByRole('alertdialog', { name: 'Leave without saving?' })
  const stay = async () => {
    await ask.getByRole('button', { name: 'Cancel' }).click()
    await ask.waitFor({ state: 'detached' })
  }
  await page.getByRole('link', { name: 'meter-1' }).click()
  await page.locator('.tabs').getByRole('link', { name: 'Commands' }).click()
  const payload = page.getByRole('textbox', { name: /^Payload/ })
  await payload.fill('{"level": 3}')
  await page.getByRole('link', { name: 'Metadata' }).click()
  await stay()
  await page.getByRole('link', { name: 'Alerts', exact: true }).click()
  await stay()
  await page.goBack()
  await stay()
  await page.locator('#page-title').focus()
  await page.keyboard.press('g')
  await page.keyboard.press('e')
  await stay()
  assert.match(page.url(), /meter-1\?tab=commands$/)
  assert.equal(await payload.textContent(), '{"level": 3}')
  const unloads: string[] = []
  page.once('dialog', (dialog) => {
    unloads.push(dialog.type())
    void dialog.dismiss()
  })
  await page.close({ runBeforeUnload: true })
  await page.getByRole('link', { name: 'Metadata' }).click()
  await ask.getByRole('button', { name: 'Leave the page' }).click()
  await payload.waitFor({ state: 'detached' })
  assert.match(page.url(), /tab=metadata$/)
  assert.deepEqual(unloads, ['beforeunload'])
  // Without unsaved input, the page does not ask.
  await page.goBack()
  await page.getByRole('heading', { name: 'Endpoints', level: 1 }).waitFor()
  await page.goForward()
  await page.locator('.tabs').getByRole('link', { name: 'Commands' }).click()
  await payload.fill('{}')
  await page.goBack()
  await ask.getByRole('button', { name: 'Leave the page' }).click()
  await page.getByRole('heading', { name: 'Endpoints', level: 1 }).waitFor()
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('in forms and dialogs, Cancel and Escape ask before they discard unsaved input, and do not ask without input', async () => {
  const page = await openTab('/applications/new')
  const ask = page.getByRole('alertdialog', { name: /^(?:Leave without saving|Discard what you typed)/ })
  const answer = async (button: string) => {
    await ask.getByRole('button', { name: button }).click()
    await ask.waitFor({ state: 'detached' })
  }
  await page.getByLabel(/^Name/).fill('half-typed')
  await page.getByRole('link', { name: 'Cancel' }).click()
  await answer('Cancel')
  assert.equal(await page.getByLabel(/^Name/).inputValue(), 'half-typed')
  await page.getByRole('link', { name: 'Cancel' }).click()
  await answer('Leave the page')
  await page.getByRole('heading', { name: 'Applications', level: 1 }).waitFor()

  await page.getByRole('link', { name: 'Commands', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Send a command' })
  const open = () => page.getByRole('button', { name: 'Send a command' }).first().click()
  const endpoint = dialog.getByRole('textbox', { name: /^Endpoint/ })
  await open()
  await endpoint.fill('meter-1')
  await page.keyboard.press('Escape')
  await answer('Cancel')
  assert.equal(await endpoint.inputValue(), 'meter-1')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await answer('Discard')
  await dialog.waitFor({ state: 'detached' })
  await open()
  await endpoint.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  assert.equal(await ask.count(), 0)
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('a sample that was typed to try a rule or a pipeline is not discarded without a question', async () => {
  const made = await opened.api('POST /re/api/v1/rules', { name: 'tried', expression: 'return 1' })
  const page = await openTab(`/rules/${made.headers.get('location')!.split('/').at(-1)}?tab=try`)
  const ask = page.getByRole('alertdialog', { name: 'Leave without saving?' })
  await page.getByRole('textbox', { name: /^Sample/ }).fill('{"my": "event"}')
  await page.getByRole('link', { name: 'Pipelines', exact: true }).click()
  await ask.getByRole('button', { name: 'Leave the page' }).click()
  await page
    .getByRole('link', { name: /New pipeline/ })
    .first()
    .click()
  await page.getByRole('textbox', { name: /^Document/ }).fill('{"my": "document"}')
  await page.getByRole('link', { name: 'Overview' }).click()
  await ask.getByRole('button', { name: 'Cancel' }).click()
  assert.equal(await page.getByRole('textbox', { name: /^Document/ }).textContent(), '{"my": "document"}')
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('while the database is unreachable, pages say so and keep the input; they recover when it is reachable again', async () => {
  const [form, list] = [await openTab('/applications/new'), await openTab('/jobs')]
  await form.getByLabel(/^Name/).fill('typed-meanwhile')
  isDatabaseGone = true
  try {
    await list.getByRole('link', { name: 'Endpoints', exact: true }).click()
    await banner(list, /tries again by itself/).waitFor()
    await form.getByRole('button', { name: 'Create' }).click()
    await form.getByRole('alert').filter({ hasText: 'cannot answer at the moment' }).waitFor()
  } finally {
    isDatabaseGone = false
  }
  await list.getByRole('link', { name: 'meter-1' }).waitFor()
  await banner(list, /tries again by itself/).waitFor({ state: 'detached' })
  assert.equal(await form.getByLabel(/^Name/).inputValue(), 'typed-meanwhile')
  await form.getByRole('button', { name: 'Create' }).click()
  await form.getByRole('heading', { name: 'typed-meanwhile', level: 1 }).waitFor()
  assert.equal((await opened.api('GET /api/v1/applications/typed-meanwhile')).status, 200)
  assert.deepEqual(opened.problems, [])
  await form.close()
  await list.close()
})

/** Milliseconds for which the tab sleeps: longer than an access token is valid. Timers of the page do not run in this time. */
const night = 10 * 3_600_000

test('a tab that slept for a night renews its session by itself, and its input can be saved', async () => {
  const page = await openTab('/applications/new')
  await page.getByLabel(/^Name/).fill('typed-yesterday')
  await page.clock.setSystemTime(Date.now() + night)
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'typed-yesterday', level: 1 }).waitFor()
  assert.equal(await page.getByRole('alertdialog').count(), 0)
  assert.equal((await opened.api('GET /api/v1/applications/typed-yesterday')).status, 200)
  assert.deepEqual(opened.problems, [])
  await page.close()
})

test('while the platform is unreachable, pages say so and keep the input; after an upgrade they continue and load new files', async () => {
  const { platform } = opened
  const [form, list, idle] = [await openTab('/applications/new'), await openTab('/endpoints'), await openTab('/')]
  await form.getByLabel(/^Name/).fill('half-typed')
  const newer = join(temporaryDirectory(), 'newer')
  makeNewerBuild(await presentBuild(), newer)
  await platform.kill('SIGTERM')

  await form.getByRole('button', { name: 'Create' }).click()
  await form.getByRole('alert').filter({ hasText: 'The platform does not answer' }).waitFor()
  await banner(form, /Live updates are interrupted/).waitFor()
  // The file of this page was not loaded before the platform stopped.
  await list.getByRole('link', { name: 'Rules', exact: true }).click()
  await list.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()

  await startPlatform({
    directory: platform.directory,
    environment: { ...environment, WAYPOST_PORT: new URL(platform.baseUrl).port, WAYPOST_CONSOLE_DIR: newer },
  })
  await banner(form, /Live updates are interrupted/).waitFor({ state: 'detached' })
  assert.equal(await form.getByLabel(/^Name/).inputValue(), 'half-typed')
  await list.getByRole('heading', { name: 'Rules', level: 1 }).waitFor()

  await idle.evaluate('document.dispatchEvent(new Event("visibilitychange"))')
  await banner(idle, /The platform has a newer console/).waitFor()
  await idle.keyboard.press('Control+k')
  await idle.getByText('A part of this page could not be loaded').or(idle.getByRole('dialog')).first().waitFor()

  // The old form works with the newer platform. The page that opens after saving is loaded from a file of the new build.
  await form.getByLabel(/^Name/).press('Enter')
  await form.getByRole('heading', { name: 'half-typed', level: 1 }).waitFor()
  assert.deepEqual(opened.problems, [])
})
