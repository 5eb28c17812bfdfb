/** Tests the account pages: sign-in, change of the password on the page and with the API, and reset of the password by e-mail. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { aMailServer } from '../../../test/harness/mail-server.ts'
import {
  aBrowser,
  call,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  password,
  pkce,
  type Realm,
} from '../../../test/harness/realms.ts'

const server = await aMailServer()
const newPassword = 'a second good phrase'
let time = Date.now()
let waypost: IdentityPlatform
let realm: Realm
let other: Realm
let client: ReturnType<typeof clientOf>

before(async () => {
  waypost = await openIdentity({
    environment: { WAYPOST_SMTP_URL: server.url, WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '1000' },
    now: () => new Date(time),
  })
  realm = await waypost.addRealm('acme', { displayName: 'Acme <Works>' })
  other = await waypost.addRealm('other')
  client = clientOf(realm)
})

/** Adds a user and returns a browser that is signed in at the account page. */
async function signedIn(username: string) {
  await waypost.addUser('acme', username)
  const browser = aBrowser()
  const account = `${realm.url}/account`
  const answer = await browser.go(account, { username, password })
  assert.equal(answer.status, 303, answer.text)
  return { browser, account, answer }
}
const logIn = (username: string, secret: string) => client.logIn(username, { password: secret })

suite('the page of the account', () => {
  test('the page of the account asks for user name and password, and then shows the account', async () => {
    const { browser, account, answer } = await signedIn('ann')
    const cookie = answer.headers.getSetCookie()[0]!
    assert.match(cookie, /path=\/auth\/realms\/acme\/account; max-age=900; httponly; samesite=strict$/)
    const page = await browser.go(account)
    assert.match(page.text, /<h1>ann<\/h1>/)
    assert.match(page.text, /Account at Acme &lt;Works&gt;/)
    assert.match(page.headers.get('content-security-policy')!, /default-src 'none'.*frame-ancestors 'none'/)
    assert.match((await aBrowser().go(account)).text, /<h1>Sign in<\/h1>/)
    assert.equal((await aBrowser().go(account, { username: 'ann', password: 'no' })).status, 401)
    assert.equal((await aBrowser().go(account, { username: 'ann' })).status, 400)
    assert.match((await browser.go(`${account}/sign-out`, {})).text, /Signed out/)
    assert.match((await browser.go(account)).text, /<h1>Sign in<\/h1>/)
  })

  test('the page of the account is shown only with the cookie of a sign-in to the same realm', async () => {
    const { browser, account } = await signedIn('bea')
    const { value } = [...browser.jar.values()][0]!
    const at = (url: string, cookie: string) => call(url, { headers: { cookie } })
    assert.match((await at(account, `x=y; waypost_account=${value}`)).text, /<h1>bea<\/h1>/)
    assert.match((await at(`${other.url}/account`, `waypost_account=${value}`)).text, /<h1>Sign in<\/h1>/)
    for (const wrong of [value.slice(1), `${value}x`, '', "' or 1=1"])
      assert.match((await at(account, `waypost_account=${wrong}`)).text, /<h1>Sign in<\/h1>/)
  })

  test('the page of the account asks for the password again after 15 minutes, and always if the user is disabled', async () => {
    const { browser, account } = await signedIn('cyd')
    const { sql } = waypost.kit.db
    await sql`update identity.users set enabled = false where username = 'cyd'`
    assert.match((await browser.go(account)).text, /<h1>Sign in<\/h1>/)
    await sql`update identity.users set enabled = true where username = 'cyd'`
    assert.match((await browser.go(account)).text, /<h1>cyd<\/h1>/)
    time += 16 * 60_000
    assert.match((await browser.go(account)).text, /<h1>Sign in<\/h1>/)
  })

  test('the page of the account rejects forms that other web sites send, other methods and unknown paths', async () => {
    const post = (site: string) =>
      call(`${realm.url}/account`, { method: 'POST', headers: { 'sec-fetch-site': site }, body: new URLSearchParams() })
    assert.equal((await post('cross-site')).status, 403)
    assert.equal((await post('same-site')).status, 403)
    assert.equal((await post('same-origin')).status, 400)
    for (const path of ['nothing', 'password', '../account/x'])
      assert.equal((await call(`${realm.url}/account/${path}`)).status, 404, path)
    assert.equal((await call(`${realm.url}/account`, { method: 'DELETE' })).status, 404)
  })
})

suite('a change of the own password', () => {
  test('users change their password on the page, which ends all of their logins', async () => {
    const { browser, account } = await signedIn('dora')
    const tokens = (await client.logIn('dora')).body
    const change = (form: Record<string, string>) => browser.go(`${account}/password`, form)
    const right = { present: password, new: newPassword, again: newPassword }
    assert.equal((await change({ ...right, present: 'wrong' })).status, 401)
    const differing = await change({ ...right, again: 'something else' })
    assert.deepEqual([differing.status, /two new passwords differ/.test(differing.text)], [400, true])
    for (const bad of ['short', 'qwertyuiop', 'dora-dora-dora', password]) {
      const answer = await change({ ...right, new: bad, again: bad })
      assert.equal(answer.status, 400, bad)
      assert.match(answer.text, /Please choose another password/)
    }
    assert.equal((await client.refresh(tokens.refresh_token)).status, 200)
    const changed = await change(right)
    assert.deepEqual([changed.status, /Password changed/.test(changed.text)], [200, true])
    assert.equal((await logIn('dora', password)).status, 400)
    assert.equal((await logIn('dora', newPassword)).status, 200)
    assert.equal((await client.refresh(tokens.refresh_token)).status, 400)
    await eventually(async () => assert.equal((await client.userinfo(tokens.access_token)).status, 401))
    assert.match((await browser.go(account)).text, /<h1>Sign in<\/h1>/)
    assert.equal((await change(right)).status, 401)
  })

  test('users change their password with the API if they send the present password', async () => {
    await waypost.addUser('acme', 'eve')
    const { access_token: token } = (await client.logIn('eve')).body
    const put = (body: unknown, authorization = `Bearer ${token}`) =>
      call(`${waypost.baseUrl}/iam/api/v1/me/password`, {
        method: 'PUT',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const right = { presentPassword: password, newPassword }
    assert.equal((await put({ ...right, presentPassword: 'wrong' })).status, 403)
    for (const [body, field] of [
      [{ ...right, newPassword: 'qwertyuiop' }, /newPassword/],
      [{ ...right, newPassword: 'short' }, /newPassword/],
      [{ newPassword }, /presentPassword/],
      [{ ...right, presentPassword: 5 }, /presentPassword/],
    ] as const) {
      const answer = await put(body)
      assert.equal(answer.status, 400)
      assert.match(answer.body.message, field)
    }
    const machine = (await client.serviceAccount()).body.access_token
    assert.equal((await put(right, `Bearer ${machine}`)).status, 403)
    assert.equal((await call(`${waypost.baseUrl}/iam/api/v1/me/password`, { method: 'PUT' })).status, 401)
    assert.equal((await put(right)).status, 204)
    assert.equal((await logIn('eve', newPassword)).status, 200)
    await eventually(async () => assert.equal((await put(right)).status, 401))
  })

  test('wrong present passwords cause a lockout, like wrong passwords at a login', async () => {
    await waypost.addUser('acme', 'fay')
    const { access_token: token } = (await client.logIn('fay')).body
    const guess = (presentPassword: string) =>
      call(`${waypost.baseUrl}/iam/api/v1/me/password`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ presentPassword, newPassword }),
      })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => guess(`wrong ${n}`)))
    assert.ok(answers.some(({ status }) => status === 429))
    const locked = await guess(password)
    assert.equal(locked.status, 429)
    assert.ok(Number(locked.headers.get('retry-after')) > 0)
    assert.equal((await client.logIn('fay')).status, 429)
  })
})

suite('a forgotten password', () => {
  const at = (path: string) => `${realm.url}/account/${path}`
  const ask = (username: string) => aBrowser().go(at('reset'), { username })
  /** Waits for the e-mail to an address and returns the token in its link. */
  const tokenFor = (address: string, index = 0) =>
    eventually(() => {
      const mails = server.mails.filter(({ to }) => to.includes(address))
      assert.ok(mails.length > index, `no e-mail to ${address}`)
      const text = mails.at(index)!.text.replace(/=\r\n/g, '').replace(/=3D/g, '=')
      assert.ok(text.includes(`${realm.url}/account/new-password?token=`), text)
      return /token=([\w-]+)/.exec(text)![1]!
    })
  const set = (token: string, secret: string, again = secret) =>
    aBrowser().go(at('new-password'), { token, new: secret, again })

  test('a forgotten password is reset with a link in an e-mail, which works once', async () => {
    await waypost.addUser('acme', 'gina')
    assert.match((await aBrowser().go(client.authUrl(pkce().challenge))).location, /login/)
    assert.match((await aBrowser().go(at('reset'))).text, /Send me a link/)
    const tokens = (await client.logIn('gina')).body
    assert.equal((await ask('gina')).status, 200)
    const token = await tokenFor('gina@example.org')
    const rows = await waypost.kit.db.sql`select id, payload from identity.artefacts where model = 'PasswordReset'`
    assert.ok(!JSON.stringify(rows).includes(token), 'the token must not be stored in plain text')
    // Opening the page does not consume the token, because programs that check links in e-mails open the page too.
    for (let n = 0; n < 2; n++)
      assert.match((await aBrowser().go(at(`new-password?token=${token}`))).text, /for gina at Acme/)
    assert.equal((await set(token, 'qwertyuiop')).status, 400)
    assert.equal((await set(token, newPassword, 'another phrase')).status, 400)
    const [first, second] = await Promise.all([set(token, newPassword), set(token, 'a third good phrase')])
    assert.deepEqual([first.status, second.status].sort(), [200, 400])
    const winner = first.status === 200 ? newPassword : 'a third good phrase'
    assert.equal((await logIn('gina', winner)).status, 200)
    assert.equal((await logIn('gina', password)).status, 400)
    assert.equal((await client.refresh(tokens.refresh_token)).status, 400)
    assert.equal((await set(token, newPassword)).status, 400)
    assert.match((await aBrowser().go(at(`new-password?token=${token}`))).text, /expired, or it was used/)
  })

  test('the link to reset a forgotten password is invalid after 30 minutes, and after a change of the password', async () => {
    await waypost.addUser('acme', 'hana')
    await ask('HANA@example.org')
    const late = await tokenFor('hana@example.org')
    time += 31 * 60_000
    assert.equal((await set(late, newPassword)).status, 400)
    await ask('hana')
    const overtaken = await tokenFor('hana@example.org', 1)
    const { access_token: token } = (await client.logIn('hana')).body
    const changed = await call(`${waypost.baseUrl}/iam/api/v1/me/password`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ presentPassword: password, newPassword }),
    })
    assert.equal(changed.status, 204, changed.text)
    assert.equal((await set(overtaken, 'a third good phrase')).status, 400)
  })

  test('the response to a reset request is the same if the user does not exist, is disabled or has no e-mail address', async () => {
    await waypost.addUser('acme', 'ida')
    const { id } = await waypost.addUser('acme', 'jana')
    await waypost.kit.db.sql`update identity.users set enabled = false where id = ${id}`
    await waypost.addUser('acme', 'kim')
    await waypost.kit.db.sql`update identity.users set email = null where username = 'kim'`
    const count = server.mails.length
    const answers = [
      await ask('ida'),
      await ask('nobody'),
      await ask('jana'),
      await ask('kim'),
      await ask('ida@example.org'),
    ]
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
    await tokenFor('ida@example.org', 1)
    assert.equal(server.mails.length, count + 2)
  })

  test('a user gets at most three e-mails to reset a forgotten password', async () => {
    time += 31 * 60_000
    await waypost.addUser('acme', 'lea')
    await waypost.addUser('acme', 'mia')
    for (let n = 0; n < 5; n++) assert.equal((await ask('lea')).status, 200)
    await ask('mia')
    await tokenFor('mia@example.org')
    await eventually(async () => {
      const [left] = await waypost.kit.db.sql`
        select count(*)::int as jobs from jobs.job where name = 'identity.password-reset' and state in ('created', 'active', 'retry')`
      assert.equal(left!.jobs, 0)
    })
    assert.equal(server.mails.filter(({ to }) => to.includes('lea@example.org')).length, 3)
  })

  test('the number of requests to reset a password is limited for each address', async () => {
    time += 60 * 60_000
    const statuses: number[] = []
    for (let n = 0; n < 22; n++) statuses.push((await ask(`nobody ${n}`)).status)
    assert.deepEqual(new Set(statuses.slice(0, 20)), new Set([200]))
    const locked = await ask('nobody')
    assert.equal(locked.status, 429)
    assert.ok(Number(locked.headers.get('retry-after')) > 60)
    time += 16 * 60_000
    assert.equal((await ask('nobody')).status, 200)
  })

  test('a request to reset a password with bad input is rejected', async () => {
    time += 60 * 60_000
    assert.equal((await aBrowser().go(at('reset'), {})).status, 400)
    assert.equal((await ask('x'.repeat(300))).status, 400)
    for (const token of ['', 'x', 'x'.repeat(400), "' or 1=1 --"])
      assert.equal((await set(token, newPassword)).status, 400)
    const foreign = `${other.url}/account/new-password`
    await waypost.addUser('acme', 'nora')
    await ask('nora')
    const token = await tokenFor('nora@example.org')
    assert.equal((await aBrowser().go(foreign, { token, new: newPassword, again: newPassword })).status, 400)
    assert.equal((await set(token, newPassword)).status, 200)
  })

  test('a forgotten password cannot be reset without a mail server, and the sign-in page does not offer it', async () => {
    const without = await openIdentity()
    const plain = await without.addRealm('plain')
    assert.equal((await aBrowser().go(`${plain.url}/account/reset`)).status, 404)
    assert.equal((await aBrowser().go(`${plain.url}/account/reset`, { username: 'x' })).status, 404)
    assert.ok(!(await aBrowser().go(`${plain.url}/account`)).text.includes('Forgot'))
    assert.ok((await aBrowser().go(`${realm.url}/account`)).text.includes('Forgot'))
  })
})
