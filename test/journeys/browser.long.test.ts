/** Web pages in a real browser: sign-in with an independent OpenID Connect client, the front page, the API reference. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, test } from 'node:test'
import * as oidc from 'openid-client'
import type { BrowserContext } from 'playwright-core'
import { openBrowser } from '../harness/browser.ts'
import { bearer, client, tokenOf } from '../harness/client.ts'
import { afterAllTests } from '../harness/database.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'

let platform: RunningPlatform
let browser: BrowserContext
/** Redirect URI of the frontend client: a loopback address, as for a native application. */
let callback: string
const requestsToOtherHosts: string[] = []

before(async () => {
  platform = await startPlatform()
  browser = await openBrowser()
  browser.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') requestsToOtherHosts.push(request.url())
  })
  const server = createServer((_, response) => response.end('<h1>Welcome back</h1>')).listen(0, '127.0.0.1')
  afterAllTests(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  callback = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
})

async function startSignIn() {
  const { frontendClient, tenantId } = platform.bootstrap.default
  const issuer = new URL(`${platform.baseUrl}/auth/realms/${tenantId}`)
  const configuration = await oidc.discovery(issuer, frontendClient.id, undefined, oidc.None(), {
    execute: [oidc.allowInsecureRequests],
  })
  const verifier = oidc.randomPKCECodeVerifier()
  const state = oidc.randomState()
  const url = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: callback,
    scope: 'openid profile email',
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  })
  return { configuration, verifier, state, url: url.href }
}

test('a user enters a wrong password, then signs in with the right password, and the application gets tokens', async () => {
  const { configuration, verifier, state, url } = await startSignIn()
  const { username, password } = platform.bootstrap.default.admin
  const page = await browser.newPage()
  await page.goto(url)
  await page.getByLabel(/user/i).fill(username)
  await page.getByLabel(/password/i).fill('wrong')
  await page.getByRole('button').click()
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByLabel(/user/i).inputValue(), username, 'the form must keep the username')
  await page.getByLabel(/password/i).fill(password!)
  await page.getByRole('button').click()
  await page.getByText('Welcome back').waitFor()

  const tokens = await oidc.authorizationCodeGrant(configuration, new URL(page.url()), {
    pkceCodeVerifier: verifier,
    expectedState: state,
  })
  assert.equal(tokens.claims()?.preferred_username ?? username, username)
  const me = await client(platform.baseUrl, bearer(tokens.access_token))('GET /iam/api/v1/me')
  assert.equal(me.body.username, username)
  assert.ok(me.body.roles.includes('tenant-admin'))

  // Single sign-on: the second sign-in of the same browser needs no password.
  const second = await startSignIn()
  await page.goto(second.url)
  await page.getByText('Welcome back').waitFor()
  await page.close()
})

test('the API reference calls an operation with a token and loads nothing from other hosts', async () => {
  const { id, secret } = platform.bootstrap.default.backendClient
  const token = await tokenOf(platform.baseUrl, 'default', {
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: secret,
  })
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  await page.goto(`${platform.baseUrl}/docs`)
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  await page.locator('.auth-container', { hasText: 'bearer' }).locator('input').fill(token)
  await page
    .locator('.auth-container', { hasText: 'bearer' })
    .getByRole('button', { name: /apply|authorize/i })
    .click()
  await page.getByRole('button', { name: 'Close' }).first().click()
  await page.locator('#operations-tag-identity').click()
  const operation = page.locator('.opblock', { has: page.locator('[data-path="/iam/api/v1/me"]') })
  await operation.locator('.opblock-summary').click()
  await operation.getByRole('button', { name: 'Execute' }).click()
  await operation.locator('.live-responses-table').getByText('"tenantId"').first().waitFor()
  assert.match(await operation.locator('.live-responses-table').innerText(), /200/)
  assert.deepEqual(problems, [])
  assert.deepEqual(requestsToOtherHosts, [])
  await page.close()
})

test('the front page says that the database is ok', async () => {
  const page = await browser.newPage()
  await page.goto(`${platform.baseUrl}/status`)
  assert.match(await page.locator('main').innerText(), /The platform is ready/)
  assert.match(await page.locator('table').innerText(), /database\s+ok/)
  await page.close()
})
