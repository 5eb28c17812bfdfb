/** Runs the unchanged JavaScript adapter of Keycloak in a real browser, in a page of another origin. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { openBrowser } from '../harness/browser.ts'
import { afterAllTests } from '../harness/database.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'

let platform: RunningPlatform
let browser: BrowserContext
let application: string

const adapter = readFileSync(new URL('../../node_modules/keycloak-js/lib/keycloak.js', import.meta.url))

before(async () => {
  platform = await startPlatform()
  browser = await openBrowser()
  const { frontendClient, tenantId } = platform.bootstrap.default
  const settings = JSON.stringify({ url: `${platform.baseUrl}/auth`, realm: tenantId, clientId: frontendClient.id })
  const pages: Record<string, [type: string, content: string | Buffer]> = {
    '/': [
      'text/html',
      `<!doctype html><script type="module">
      import Keycloak from '/keycloak.js'
      const keycloak = new Keycloak(${settings})
      globalThis.keycloak = keycloak
      keycloak.onAuthLogout = () => { globalThis.loggedOut = true }
      const options = new URLSearchParams(location.search).get('options')
      const found = await keycloak.init(options ? JSON.parse(options) : { onLoad: 'login-required', checkLoginIframeInterval: 1 })
      globalThis.authenticated = found
    </script>`,
    ],
    '/silent.html': ['text/html', '<!doctype html><script>parent.postMessage(location.href, location.origin)</script>'],
    '/keycloak.js': ['text/javascript', adapter],
  }
  const server = createServer((request, response) => {
    const [type, content] = pages[request.url!.split('?')[0]!] ?? ['text/plain', '']
    response.setHeader('content-type', type).end(content)
  }).listen(0, '127.0.0.1')
  afterAllTests(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  application = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

// biome-ignore lint/suspicious/noExplicitAny: the adapter exists only in the page
const inPage = (page: Page, text: string): Promise<any> => page.evaluate(text)

async function signIn(page: Page, path = '/') {
  const { username, password } = platform.bootstrap.default.admin
  await page.goto(application + path)
  await page.getByLabel(/user/i).fill(username)
  await page.getByLabel(/password/i).fill(password!)
  await page.getByRole('button').click()
  await page.waitForFunction('globalThis.authenticated === true')
}

test('the adapter signs in, reads its tokens, refreshes them, calls the platform and signs out', async () => {
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  await signIn(page)
  const { username } = platform.bootstrap.default.admin
  assert.equal(await inPage(page, 'keycloak.tokenParsed.preferred_username'), username)
  assert.equal(await inPage(page, 'keycloak.idTokenParsed.typ'), 'ID')
  assert.equal(typeof (await inPage(page, 'keycloak.sessionId')), 'string')
  assert.ok((await inPage(page, 'keycloak.refreshTokenParsed.exp - keycloak.tokenParsed.iat')) > 60)
  assert.equal(await inPage(page, 'keycloak.isTokenExpired()'), false)
  const first = await inPage(page, 'keycloak.token')
  assert.equal(await inPage(page, 'keycloak.updateToken(-1)'), true)
  assert.notEqual(await inPage(page, 'keycloak.token'), first)
  assert.equal((await inPage(page, 'keycloak.loadUserInfo()')).preferred_username, username)
  const me = await inPage(
    page,
    `fetch('${platform.baseUrl}/iam/api/v1/me', { headers: { authorization: 'Bearer ' + keycloak.token } }).then((r) => r.json())`,
  )
  assert.equal(me.username, username)
  await page.evaluate('void keycloak.logout()')
  await page.getByLabel(/user/i).waitFor()
  assert.deepEqual(problems, [])
  await page.close()
})

test('the adapter finds an existing login without a redirect, and detects a logout in another page', async () => {
  const page = await browser.newPage()
  await signIn(page)
  const second = await browser.newPage()
  const options = {
    onLoad: 'check-sso',
    silentCheckSsoRedirectUri: `${application}/silent.html`,
    checkLoginIframeInterval: 1,
  }
  await second.goto(`${application}/?options=${encodeURIComponent(JSON.stringify(options))}`)
  await second.waitForFunction('globalThis.authenticated === true')
  assert.equal(await inPage(second, 'keycloak.sessionId'), await inPage(page, 'keycloak.sessionId'))
  await page.evaluate('void keycloak.logout()')
  await page.getByLabel(/user/i).waitFor()
  await second.waitForFunction('globalThis.loggedOut === true')
  await page.close()
  await second.close()
})

test('the check without a redirect reports no login if the user is not logged in', async () => {
  const page = await browser.newPage()
  const options = { onLoad: 'check-sso', silentCheckSsoRedirectUri: `${application}/silent.html` }
  await page.goto(`${application}/?options=${encodeURIComponent(JSON.stringify(options))}`)
  await page.waitForFunction('globalThis.authenticated === false')
  await page.close()
})
