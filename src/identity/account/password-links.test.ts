/** Tests links with which users choose a password, and the login that follows. */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import {
  aBrowser,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  password,
  pkce,
  type Realm,
} from '../../../test/harness/realms.ts'

const newPassword = 'a second good phrase'
let time = Date.now()
let waypost: IdentityPlatform
let realm: Realm
let other: Realm
let client: ReturnType<typeof clientOf>

before(async () => {
  waypost = await openIdentity({ now: () => new Date(time) })
  realm = await waypost.addRealm('acme')
  other = await waypost.addRealm('other')
  client = clientOf(realm)
})

async function aLink(username: string) {
  const { id } = await waypost.addUser('acme', username)
  const path = await waypost.identity.operator.createPasswordLink('acme', id)
  return { id, link: waypost.baseUrl + path, token: path.split('token=')[1]! }
}
const choose = (token: string, secret = newPassword, again = secret, browser = aBrowser()) =>
  browser.go(`${realm.url}/account/choose-password`, { token, new: secret, again })

suite('a link to choose a password', () => {
  test('a link to choose a password shows a form, sets the password once and leads to the console', async () => {
    const { link, token } = await aLink('ann')
    const tokens = (await client.logIn('ann')).body
    // Opening the page does not consume the link, because programs that scan e-mails open links too.
    for (let n = 0; n < 2; n++) assert.match((await aBrowser().go(link)).text, /for ann at acme Works/)
    assert.equal((await choose(token, 'qwertyuiop')).status, 400)
    const differing = await choose(token, newPassword, 'another phrase')
    assert.match(differing.text, /two new passwords differ/)
    const done = await choose(token)
    assert.deepEqual([done.status, done.location], [303, '/console/acme/'])
    const cookie = done.headers.getSetCookie()[0]!
    assert.match(
      cookie,
      /^waypost_ticket=[\w-]{43}; path=\/auth\/realms\/acme\/login; max-age=120; httponly; samesite=strict$/,
    )
    assert.equal((await client.logIn('ann', { password: newPassword })).status, 200)
    assert.equal((await client.logIn('ann')).status, 400)
    assert.equal((await client.refresh(tokens.refresh_token)).status, 400)
    for (const used of [await choose(token), await aBrowser().go(link)]) {
      assert.equal(used.status, 400)
      assert.match(used.text, /used already, or its 15 minutes are over.*bin\/waypost user link/)
    }
  })

  test('a link to choose a password is stored as a hash, and its use is in the audit log', async () => {
    const { id, token } = await aLink('bea')
    const { sql } = waypost.kit.db
    const rows = await sql`select id, payload from identity.artefacts where model = 'PasswordLink'`
    assert.ok(!JSON.stringify(rows).includes(token))
    assert.equal((await choose(token)).status, 303)
    await eventually(async () => {
      await waypost.kit.audit.flush()
      const records = await sql`
        select operation, actor_id, resource from kernel.audit_log where operation like 'users.passwordLink.%'
          and (actor_id = ${id} or resource = ${`/iam/api/v1/users/${id}`}) order by at`
      assert.deepEqual(
        records.map(({ operation }) => operation),
        ['users.passwordLink.created', 'users.passwordLink.used'],
      )
      assert.ok(!JSON.stringify(records).includes(token))
    })
  })

  test('a link to choose a password is invalid after 15 minutes, and after a change of the password', async () => {
    const late = await aLink('cyd')
    time += 16 * 60_000
    assert.equal((await choose(late.token)).status, 400)
    const overtaken = await aLink('dora')
    await waypost.identity.operator.setPassword('acme', overtaken.id, newPassword)
    assert.equal((await choose(overtaken.token)).status, 400)
  })

  test('of three uses of a link at the same time, one succeeds', async () => {
    const { token } = await aLink('eve')
    const answers = await Promise.all([choose(token), choose(token, 'a third good phrase'), choose(token)])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [303, 400, 400])
  })

  test('a link to choose a password works only in its realm and for an enabled user; bad input is rejected', async () => {
    const { id, token } = await aLink('fay')
    const foreign = await aBrowser().go(`${other.url}/account/choose-password`, {
      token,
      new: newPassword,
      again: newPassword,
    })
    assert.equal(foreign.status, 400)
    for (const wrong of ['', 'x', 'x'.repeat(5000), "' or 1=1 --", `${token}x`])
      assert.equal((await choose(wrong)).status, 400, wrong.slice(0, 20))
    await waypost.kit.db.sql`update identity.users set enabled = false where id = ${id}`
    assert.equal((await choose(token)).status, 400)
    await assert.rejects(waypost.identity.operator.createPasswordLink('acme', id), /An enabled user/)
    await assert.rejects(waypost.identity.operator.createPasswordLink('acme', 'nobody'), /An enabled user/)
    await assert.rejects(waypost.identity.operator.createPasswordLink('other', id), /An enabled user/)
  })
})

suite('the login after the choice of a password', () => {
  /** Chooses a password in a browser. Returns the browser, which then has a ticket (a cookie for one login without the password). */
  async function chosen(username: string) {
    const browser = aBrowser()
    const { token } = await aLink(username)
    assert.equal((await choose(token, newPassword, newPassword, browser)).status, 303)
    return browser
  }
  /** Starts a login and returns the response of the sign-in page. */
  async function start(browser: ReturnType<typeof aBrowser>, at = client) {
    const { location } = await browser.go(at.authUrl(pkce().challenge))
    return await browser.go(new URL(location, realm.url).href)
  }

  test('the login after the choice of a password needs no password the first time', async (t) => {
    const browser = await chosen('gina')
    const warnings = t.mock.method(waypost.http.app.log, 'warn')
    const answer = await start(browser)
    assert.equal(answer.status, 303, answer.text)
    assert.deepEqual(
      warnings.mock.calls.map(({ arguments: logged }) => logged),
      [],
      'the server must send nothing after the response',
    )
    const back = await browser.go(answer.location)
    assert.ok(new URL(back.location).searchParams.has('code'), back.location)
    const otherBrowser = aBrowser()
    assert.match((await start(otherBrowser)).text, /<h1>Sign in<\/h1>/)
    assert.ok(![...browser.jar.values()].some(({ name }) => name === 'waypost_ticket'))
  })

  test('the login after the choice of a password needs the password if the ticket was used, is wrong or expired, or belongs to another realm or a disabled user', async () => {
    const browser = await chosen('hana')
    const ticket = [...browser.jar.entries()].find(([, { name }]) => name === 'waypost_ticket')!
    assert.equal((await start(browser)).status, 303)
    const withTicket = (value = ticket[1].value) => {
      const again = aBrowser()
      again.jar.set(ticket[0], { ...ticket[1], value })
      return again
    }
    const asksForPassword = async (visitor: ReturnType<typeof aBrowser>) =>
      assert.match((await start(visitor)).text, /<h1>Sign in<\/h1>/)
    await asksForPassword(withTicket())
    for (const wrong of ['x', 'x'.repeat(43), "'; --"]) await asksForPassword(withTicket(wrong))
    const late = await chosen('ida')
    time += 3 * 60_000
    await asksForPassword(late)
    const disabled = await chosen('jana')
    await waypost.kit.db.sql`update identity.users set enabled = false where username = 'jana'`
    await asksForPassword(disabled)
    const ofOtherRealm = await chosen('kim')
    const { location } = await ofOtherRealm.go(clientOf(other).authUrl(pkce().challenge))
    assert.match((await ofOtherRealm.go(new URL(location, other.url).href)).text, /<h1>Sign in<\/h1>/)
  })

  test('the login after the choice of a password asks for the second factor if the realm requires one', async () => {
    const { sql } = waypost.kit.db
    const strict = await waypost.addRealm('strict')
    await waypost.kit.db.tx(async (tx) => {
      await tx`update identity.realms set second_factor = 'required', revision = revision + 1 where tenant_id = 'strict'`
    })
    await waypost.addUser('strict', 'lea')
    const [user] = await sql`select id from identity.users where tenant_id = 'strict'`
    const path = await waypost.identity.operator.createPasswordLink('strict', user!.id)
    const browser = aBrowser()
    const form = { token: path.split('token=')[1]!, new: newPassword, again: newPassword }
    assert.equal((await browser.go(`${strict.url}/account/choose-password`, form)).status, 303)
    const { location } = await browser.go(clientOf(strict).authUrl(pkce().challenge))
    const answer = await browser.go(new URL(location, strict.url).href)
    assert.equal(answer.status, 200)
    assert.match(answer.text, /second factor|authenticator/i)
    assert.ok(!answer.text.includes(password))
  })
})
