/** Tests of the session of the console: sign-in, reload, expiry, sign-out of all tabs, and that nothing is kept in browser storage. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Page, Response } from 'playwright-core'
import { openConsole, settled, signIn, type TestConsole } from '../harness/console.ts'
import { eventually } from '../harness/eventually.ts'
import { keyboardOf } from '../harness/keyboard.ts'

let opened: TestConsole
const gracesPassword = 'seven green lamps'

before(async () => {
  opened = await openConsole()
  // The browser logs every request that is rejected.
  opened.expect(/status of (40[014]|503)/)
  const { api } = opened
  const grace = await api('POST /iam/api/v1/users', { username: 'grace', roles: ['tenant-admin'] })
  const given = await api(`PUT /iam/api/v1/users/${grace.body.id}/password`, { password: gracesPassword })
  assert.ok(given.status < 300, given.text)
})

test('a person signs in, a reload and a new tab need no password, and sign-out ends all tabs', async () => {
  const { browser, platform } = opened
  const page = await opened.open('/applications?q=me')
  assert.equal(
    page.url(),
    opened.address('/applications?q=me'),
    'the address is the one that was opened, without a code',
  )
  await page.getByRole('heading', { name: 'Applications', level: 1 }).waitFor()

  await page.reload()
  await settled(page)
  const second = await browser.newPage()
  await second.goto(opened.address('/'))
  await settled(second)

  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state])',
  )
  assert.doesNotMatch(stored, /eyJ|token|code/i, 'no token is stored')

  let isFailing = true
  await second.route('**/protocol/openid-connect/logout', (route) =>
    isFailing ? route.fulfill({ status: 503 }) : route.continue(),
  )
  await second.getByRole('button', { name: /your account/i }).click()
  await second.getByRole('menuitem', { name: 'Sign out' }).click()
  await second.getByRole('heading', { name: 'You are not signed out yet' }).waitFor()
  assert.equal(await page.getByRole('heading', { name: 'Applications', level: 1 }).count(), 1, 'other tabs continue')
  isFailing = false
  await second.getByRole('button', { name: 'Try again' }).click()
  for (const tab of [second, page]) await tab.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel(/password/i).waitFor()
  const { username, password = '' } = platform.bootstrap.default.admin
  await signIn(page, username, password)
  // After the sign-in, the other tab continues by itself.
  await settled(second)
  assert.deepEqual(opened.problems, [])
  await page.close()
  await second.close()
})

test('the address of a tenant that does not exist shows a form to choose a tenant', async () => {
  const page = await opened.browser.newPage()
  await page.goto(`${opened.platform.baseUrl}/console/no-such-tenant/endpoints`)
  await page.getByRole('heading', { name: 'This tenant is not available' }).waitFor()
  await page.getByRole('link', { name: 'Choose a tenant' }).click()
  await page.getByRole('textbox', { name: 'Tenant' }).fill('default')
  await page.getByRole('button', { name: 'Continue' }).click()
  await settled(page)
  assert.equal(page.url(), opened.address(''))
  await page.close()
})

test('the reference at /docs uses the session of the console, and keeps no token', async () => {
  const { platform } = opened
  const page = await opened.open('/')
  const reference = await opened.browser.newPage()
  await reference.goto(`${platform.baseUrl}/docs?tenant=default#/identity/me.get`)
  await reference.getByText('You are signed in at the tenant default.').waitFor()
  await reference.getByRole('button', { name: 'Execute' }).click()
  await reference.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
  await reference
    .locator('.live-responses-table')
    .getByText(platform.bootstrap.default.admin.username)
    .first()
    .waitFor()
  const kept = await reference.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.body.innerText])',
  )
  assert.doesNotMatch(kept, /eyJ/, 'the token is neither stored nor shown')

  await page.getByRole('button', { name: /your account/i }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await reference.getByText('Sign in at the tenant default to try out requests').waitFor()
  await reference.getByRole('button', { name: 'Execute' }).click()
  await reference.locator('.live-responses-table .response-col_status', { hasText: '401' }).waitFor()
  assert.deepEqual(opened.problems, [])
  await reference.close()
  await page.close()
})

test('when the session ends at the identity provider, the page says so and keeps the input', async () => {
  const { browser, platform, api } = opened
  const page = await opened.open('/applications/new')
  await page.getByLabel(/^Name/).fill('half-typed')
  // An administrator ends all logins of the user.
  const { body: me } = await api('GET /iam/api/v1/me')
  const { username, password = '' } = platform.bootstrap.default.admin
  await api(`PUT /iam/api/v1/users/${me.subject.id}/password`, { password })
  // The dialog appears without a key or click, because the live stream of the page ends.
  await page.getByRole('alertdialog', { name: 'Your session has ended' }).waitFor()
  const [tab] = await Promise.all([
    browser.waitForEvent('page'),
    page.getByRole('alertdialog').getByRole('button', { name: 'Sign in' }).click(),
  ])
  await tab.getByLabel(/user/i).fill(username)
  await tab.getByLabel(/password/i).fill(password)
  await tab.getByRole('button').click()
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel(/^Name/).inputValue(), 'half-typed')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'half-typed', level: 1 }).waitFor()
  assert.deepEqual(opened.problems, [])
})

test('a sign-out in another tab hides the input; the same user gets the input back, another user does not', async () => {
  const { browser, platform } = opened
  const { username, password = '' } = platform.bootstrap.default.admin
  const page = await opened.open('/applications/new')
  await page.getByLabel(/^Name/).fill('half-typed-again')
  const other = await opened.open('/')
  const signOut = async () => {
    await other.getByRole('button', { name: /your account/i }).click()
    await other.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('alertdialog', { name: 'You are signed out' }).waitFor()
    assert.equal(await page.locator('.frame').isVisible(), false)
  }
  const signInAs = async (name: string, secret: string) => {
    await other.getByRole('button', { name: 'Sign in' }).click()
    await signIn(other, name, secret)
  }
  await signOut()
  await signInAs(username, password)
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  assert.equal(await page.getByLabel(/^Name/).inputValue(), 'half-typed-again')

  await signOut()
  await signInAs('grace', gracesPassword)
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })
  await settled(page)
  assert.equal(await page.getByLabel(/^Name/).inputValue(), '')
  assert.deepEqual(opened.problems, [])
  await other.close()
  await browser.clearCookies()
  await page.close()
})

/** Milliseconds that are longer than the validity of an access token. */
const laterMs = 10 * 3_600_000

test('if a refresh token is no longer valid, the page gets a new one while the user is logged in at the identity provider; otherwise the page says so and keeps the input', async () => {
  const { browser, platform } = opened
  const { username, password = '' } = platform.bootstrap.default.admin
  const connectPath = `${platform.baseUrl}/auth/realms/default/protocol/openid-connect`
  const page = await opened.open('/applications/new')
  /** Returns the refresh token that the page gets during the action. */
  const tokenDuring = async (action: () => Promise<unknown>): Promise<string> => {
    const isGiven = (response: Response) => response.url() === `${connectPath}/token` && response.status() === 200
    const [response] = await Promise.all([page.waitForResponse(isGiven), action()])
    return (await response.json()).refresh_token
  }
  const send = (path: string, parameters: Record<string, string>) =>
    fetch(`${connectPath}/${path}`, {
      ...{ method: 'POST', body: new URLSearchParams({ client_id: 'waypost-console', ...parameters }) },
    })
  /** Revokes the refresh token, and moves the clock of the page so that its access token has expired. */
  const end = async (refreshToken: string, inMs: number) => {
    assert.equal((await send('revoke', { token: refreshToken, token_type_hint: 'refresh_token' })).status, 200)
    const refused = await send('token', { grant_type: 'refresh_token', refresh_token: refreshToken })
    assert.equal(((await refused.json()) as { error: string }).error, 'invalid_grant')
    await page.clock.setSystemTime(Date.now() + inMs)
  }
  // The end of a refresh token ends the login, and a live stream detects this within a second. The test is about a page whose own request
  // is the first to detect it, so the page gets no stream: the request for the stream stays unanswered.
  await page.addInitScript('delete globalThis.SharedWorker')
  await page.route('**/live/api/v1/streams', () => {})
  const first = await tokenDuring(() => page.reload())
  await page.getByLabel(/^Name/).fill('renewed')
  await end(first, laterMs)
  const second = await tokenDuring(() => page.getByRole('button', { name: 'Create' }).click())
  assert.notEqual(second, first)
  await page.getByRole('heading', { name: 'renewed', level: 1 }).waitFor()

  await keyboardOf(page).open('New application', 'New application')
  await page.getByLabel(/^Name/).fill('half-filled')
  await page.getByLabel(/^Description/).fill('typed before the session ended')
  await browser.clearCookies()
  await end(second, 2 * laterMs)
  await page.getByRole('button', { name: 'Create' }).click()
  const dialog = page.getByRole('alertdialog', { name: 'Your session has ended' })
  await dialog.getByText('this page continues and keeps what you typed').waitFor()
  const [tab] = await Promise.all([
    browser.waitForEvent('page'),
    dialog.getByRole('button', { name: 'Sign in' }).click(),
  ])
  await tab.getByLabel(/user/i).fill(username)
  await tab.getByLabel(/password/i).fill(password)
  await tab.getByRole('button').click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'half-filled', level: 1 }).waitFor()
  // The test before has ended the login of the administrator, so the token of `opened.api` is no longer valid.
  const ask = await platform.asService(platform.bootstrap.default)
  const { body } = await ask('GET /api/v1/applications/half-filled')
  assert.equal(body.description, 'typed before the session ended')
  assert.deepEqual(opened.problems, [])
})

/** Holds the responses with tokens back, so that something else happens first. */
async function holdTokens(page: Page) {
  const released = Promise.withResolvers<void>()
  let received = 0
  await page.route('**/protocol/openid-connect/token', async (route) => {
    const response = await route.fetch()
    received++
    await released.promise
    await route.fulfill({ response })
  })
  return {
    waitForOne: () => eventually(() => assert.equal(received, 1)),
    async release() {
      released.resolve()
      await page.unrouteAll({ behavior: 'wait' })
    },
  }
}

async function signOutIn(tab: Page) {
  await tab.getByRole('button', { name: /your account/i }).click()
  await tab.getByRole('menuitem', { name: 'Sign out' }).click()
  await tab.getByRole('heading', { name: 'You are signed out' }).waitFor()
}

test('a sign-out in another tab also ends a page that is renewing its tokens, although new tokens arrive', async () => {
  const page = await opened.open('/applications')
  await settled(page)
  const other = await opened.open('/')
  const held = await holdTokens(page)
  // The test before has moved the clock of all pages of the browser.
  await page.clock.setSystemTime(Date.now() + 3 * laterMs)
  await page.getByRole('link', { name: 'Endpoints' }).click()
  await held.waitForOne()
  await signOutIn(other)
  const heading = page.getByRole('heading', { name: 'You are signed out' })
  await heading.waitFor()
  await held.release()
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 300))')
  assert.equal(await heading.count(), 1)
  assert.equal(await page.locator('.frame').count(), 0)
  assert.deepEqual(opened.problems, [])
  await page.close()
  await other.close()
})

test('a sign-out in another tab also ends a page that is signing in, although its tokens arrive', async () => {
  const other = await opened.open('/')
  const page = await opened.browser.newPage()
  const held = await holdTokens(page)
  await page.goto(opened.address('/applications'))
  await held.waitForOne()
  await signOutIn(other)
  await held.release()
  await page.getByLabel(/password/i).waitFor()
  assert.match(page.url(), /\/auth\/realms\/default\//)
  assert.deepEqual(opened.problems, [])
  await page.close()
  await other.close()
})
