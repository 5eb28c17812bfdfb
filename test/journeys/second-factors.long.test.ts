/** Tests security keys in a real browser, with the virtual authenticator of the browser. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { BrowserContext, Page } from 'playwright-core'
import { openBrowser } from '../harness/browser.ts'
import { aTenantAdmin } from '../harness/builders.ts'
import { freePort } from '../harness/free-port.ts'
import { clientOf, type IdentityPlatform, openIdentity, password, pkce, type Realm } from '../harness/realms.ts'

let waypost: IdentityPlatform
let realm: Realm
let context: BrowserContext

before(async () => {
  // A browser registers a security key for a host name, so the base URL must not contain an IP address.
  const port = await freePort()
  waypost = await openIdentity({ port, environment: { WAYPOST_BASE_URL: `http://localhost:${port}` } })
  realm = await waypost.addRealm('acme')
  await waypost.as(aTenantAdmin('acme'))('PUT /iam/api/v1/realm', { secondFactor: 'required' })
  context = await openBrowser()
})

async function aPageWithKey() {
  const page = await context.newPage()
  const devtools = await context.newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'usb', automaticPresenceSimulation: true },
  })
  return { page, devtools, authenticatorId }
}

async function enterPassword(page: Page, username: string) {
  await page.goto(clientOf(realm).authUrl(pkce().challenge, { prompt: 'login' }))
  await page.getByLabel(/user/i).fill(username)
  await page.getByLabel(/password/i).fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
/** Waits until the browser is back at the application. */
const isSignedIn = (page: Page) => page.waitForURL(/\/console\/callback\?.*code=/)

test('a user adds a security key at the first login and signs in with it later', async () => {
  await waypost.addUser('acme', 'ada')
  const { page, devtools, authenticatorId } = await aPageWithKey()
  const problems: string[] = []
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  await enterPassword(page, 'ada')
  await page.getByRole('button', { name: 'Add a security key' }).click()
  await page.getByText('Recovery codes').first().waitFor()
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await isSignedIn(page)
  const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId })
  assert.equal(credentials.length, 1)

  await enterPassword(page, 'ada')
  await page.getByRole('button', { name: 'Use a security key' }).click()
  await isSignedIn(page)
  const [row] = await waypost.kit.db.sql`select counter::int as counter, last_used_at from identity.second_factors`
  assert.ok(row!.counter > 1 && row!.lastUsedAt, JSON.stringify(row))

  // A copy of a security key has a lower signature counter. The platform must refuse it.
  await waypost.kit.db.sql`update identity.second_factors set counter = 1000`
  await enterPassword(page, 'ada')
  await page.getByRole('button', { name: 'Use a security key' }).click()
  await page.getByText('The security key was not accepted').waitFor()
  assert.deepEqual(
    problems.filter((text) => /Content Security Policy|Uncaught/i.test(text)),
    [],
  )
  await page.close()
})

test('a sign-in with the security key of another user, or without a security key, is rejected', async () => {
  await waypost.addUser('acme', 'bea')
  await waypost.addUser('acme', 'eve')
  const bea = await aPageWithKey()
  await enterPassword(bea.page, 'bea')
  await bea.page.getByRole('button', { name: 'Add a security key' }).click()
  await bea.page.getByRole('button', { name: 'I have kept them' }).click()
  await isSignedIn(bea.page)
  await bea.page.close()

  const eve = await aPageWithKey()
  await enterPassword(eve.page, 'eve')
  await eve.page.getByRole('button', { name: 'Add a security key' }).click()
  await eve.page.getByRole('button', { name: 'I have kept them' }).click()
  await isSignedIn(eve.page)
  await enterPassword(eve.page, 'bea')
  await eve.page.getByRole('button', { name: 'Use a security key' }).click()
  await eve.page.getByText('The security key could not be used').waitFor()
  // An attacker can send any text as the response, without the script of the page.
  for (const credential of ['', '{}', '[]', 'null', '{"id":"AAAA","response":{}}', 'x'.repeat(5000)]) {
    const form = "document.getElementById('security-key')"
    await eve.page.evaluate(`${form}.elements.credential.value = ${JSON.stringify(credential)}; ${form}.submit()`)
    await eve.page.getByText('The security key was not accepted').waitFor()
  }
  await eve.page.close()
})
