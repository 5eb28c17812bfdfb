import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { aBrowser, call, clientOf, openIdentity, password, pkce } from '../../../test/harness/realms.ts'

let offsetMs = 0
const waypost = await openIdentity({
  now: () => new Date(Date.now() + offsetMs),
  environment: {
    WAYPOST_TRUST_PROXY: '1',
    WAYPOST_LOGINS_OPEN_PER_ADDRESS: '5',
    WAYPOST_LOGINS_OPEN: '12',
    WAYPOST_LOG_LEVEL: 'fatal',
  },
})
const client = clientOf(await waypost.addRealm('acme'))
await waypost.addUser('acme', 'ada')
const { sql } = waypost.kit.db
const start = (address: string, parameters: Record<string, string> = {}) =>
  call(client.authUrl(pkce().challenge, parameters), { headers: { 'x-forwarded-for': address } })
const storedBytes = async () => {
  const [row] = await sql`select coalesce(sum(pg_column_size(payload)), 0)::int as bytes from identity.artefacts`
  return row!.bytes as number
}

test('a login with a parameter of more than 1024 characters is rejected, so that an anonymous caller cannot store much data', async () => {
  for (const name of ['state', 'nonce', 'login_hint', 'ui_locales', 'acr_values']) {
    const refused = await start('10.0.0.1', { [name]: 'x'.repeat(1025) })
    assert.equal(refused.status, 400, name)
    assert.match(refused.text, new RegExp(`${name} is longer than 1024 characters`))
  }
  const form = new URLSearchParams({ client_id: 'x', state: 'x'.repeat(40_000) })
  assert.equal((await call(client.at('auth'), { method: 'POST', body: form })).status, 400)
  assert.equal(await storedBytes(), 0)
  assert.equal((await start('10.0.0.1', { state: 'x'.repeat(1024) })).status, 303)
})

test('unfinished logins are limited per address and in total; expired and completed logins do not count', async () => {
  await sql`delete from identity.artefacts`
  for (let i = 0; i < 5; i++) assert.equal((await start('10.0.0.2')).status, 303)
  const refused = await start('10.0.0.2')
  assert.equal(refused.status, 429, refused.text)
  assert.equal(refused.headers.get('retry-after'), '60')
  assert.match(refused.text, /not finished/)
  for (let i = 0; i < 5; i++) assert.equal((await start('10.0.0.3')).status, 303)

  const browser = aBrowser()
  const login = await browser.go(client.authUrl(pkce().challenge))
  const page = new URL(login.headers.get('location')!, client.at('')).href
  const entered = await browser.go(page, { username: 'ada', password })
  assert.ok([302, 303].includes(entered.status), entered.text)

  for (let i = 0; i < 5; i++) await start(`10.0.1.${i}`)
  assert.equal((await start('10.0.0.9')).status, 503)
  offsetMs += 1801 * 1000
  // The platform counts all unfinished logins once a second.
  await eventually(async () => assert.equal((await start('10.0.0.2')).status, 303))
})
