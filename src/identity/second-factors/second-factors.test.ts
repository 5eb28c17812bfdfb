/**
 * Tests second factors at the sign-in, on the account page and in the password grant. test/journeys/second-factors.long.test.ts tests
 * security keys.
 */
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { decodeJwt } from 'jose'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import {
  aBrowser,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  password,
  pkce,
  type Realm,
} from '../../../test/harness/realms.ts'
import type { Ask } from '../../../test/harness/test-platform.ts'
import { stepAt, totpCode } from './totp.ts'

let time = Date.parse('2026-11-17T12:00:00Z')
let waypost: IdentityPlatform
const realms = {} as Record<'off' | 'optional' | 'required', Realm>
const admins = {} as Record<'off' | 'optional' | 'required', Ask>

before(async () => {
  waypost = await openIdentity({
    environment: { WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '10000' },
    now: () => new Date(time),
  })
  for (const mode of ['off', 'optional', 'required'] as const) {
    realms[mode] = await waypost.addRealm(mode)
    admins[mode] = waypost.as(aTenantAdmin(mode))
    const answer = await admins[mode]('PUT /iam/api/v1/realm', { secondFactor: mode })
    assert.deepEqual([answer.status, answer.body], [200, { secondFactor: mode }])
  }
})

type Browser = ReturnType<typeof aBrowser>
type Mode = keyof typeof realms
let users = 0
const newUser = async (mode: Mode) => waypost.addUser(mode, `user-number-${++users}`)
const codeOf = (secret: string, steps = 0) => totpCode(secret, stepAt(new Date(time)) + steps)
const nextStep = () => {
  time += 30_000
}
const secretIn = (html: string) => /id="secret">([A-Z2-7]+)</.exec(html)![1]!
const codesIn = (html: string) => [...html.matchAll(/<li>([a-z0-9-]+)<\/li>/g)].map(([, code]) => code!)

/** Starts the sign-in of an application. `post` sends the forms of its pages. */
async function aSignIn(mode: Mode, browser = aBrowser()) {
  const { verifier, challenge } = pkce()
  const client = clientOf(realms[mode])
  const { location } = await browser.go(client.authUrl(challenge))
  const url = waypost.baseUrl + location
  return {
    browser,
    url,
    post: (form: Record<string, string>) => browser.go(url, form),
    /** Follows the redirects to the application and returns the claims of the ID token. */
    async complete(answer: { status: number; location: string; text: string }) {
      assert.equal(answer.status, 303, answer.text)
      const back = new URL((await browser.go(answer.location)).location)
      const code = back.searchParams.get('code')
      assert.ok(code, back.href)
      const tokens = await client.token({
        grant_type: 'authorization_code',
        client_id: realms[mode].frontend,
        code,
        redirect_uri: `${waypost.baseUrl}/console/callback`,
        code_verifier: verifier,
      })
      assert.equal(tokens.status, 200, tokens.text)
      return decodeJwt(tokens.body.id_token)
    },
  }
}

/** Adds an authenticator app to a user of a realm on the account page. Returns its secret and the recovery codes. */
async function withApp(mode: Mode) {
  const user = await newUser(mode)
  const browser = aBrowser()
  const account = `${realms[mode].url}/account`
  await browser.go(account, { username: user.username, password })
  if (mode !== 'required') assert.equal((await browser.go(`${account}/add-factor`, {})).status, 303)
  const secret = secretIn((await browser.go(account)).text)
  const codes = codesIn((await browser.go(account, { step: 'add-app', code: codeOf(secret) })).text)
  assert.equal(codes.length, 10)
  assert.equal((await browser.go(account, { step: 'codes-kept' })).status, 303)
  nextStep()
  return { ...user, secret, codes, browser, account }
}

suite('a realm that requires a second factor', () => {
  test('a realm that requires a second factor makes a user without a second factor add an authenticator app at the login', async () => {
    const { username } = await newUser('required')
    const { url, browser, post, complete } = await aSignIn('required')
    const enrol = await post({ username, password })
    assert.equal(enrol.status, 200)
    assert.match(enrol.text, /requires a second factor for every user/)
    assert.match(enrol.text, /<svg/)
    const secret = secretIn(enrol.text)
    assert.equal(secretIn((await browser.go(url)).text), secret, 'the secret must stay the same after a reload')
    for (const code of ['', '000000', 'abcdef', codeOf(secret, -5)]) {
      const wrong = await post({ step: 'add-app', code })
      assert.equal(wrong.status, 400)
      assert.equal(secretIn(wrong.text), secret)
    }
    const codes = await post({ step: 'add-app', code: ` ${codeOf(secret).replace(/^.../, '$& ')} ` })
    assert.equal(codesIn(codes.text).length, 10)
    const claims = await complete(await post({ step: 'codes-kept' }))
    assert.equal(claims.preferred_username, username)
    assert.deepEqual(claims.amr ?? ['pwd', 'otp', 'mfa'], ['pwd', 'otp', 'mfa'])
    const [row] = await waypost.kit.db.sql`select secret_sealed from identity.second_factors where kind = 'totp'`
    assert.ok(!JSON.stringify(row).includes(secret))
    nextStep()

    const again = await aSignIn('required')
    const response = await again.post({ username, password })
    assert.match(response.text, /Code of your app/)
    assert.ok(!response.text.includes(secret))
    await again.complete(await again.post({ step: 'code', code: codeOf(secret) }))
  })

  test('a realm that requires a second factor rejects a login that skips a step', async () => {
    const { username } = await newUser('required')
    const { url, post, browser } = await aSignIn('required')
    for (const step of ['code', 'add-app', 'add-key', 'key', 'codes-kept', 'constructor', ''])
      assert.equal((await post({ step, code: '000000' })).status, 400, `${step} without a password`)
    await post({ username, password })
    for (const step of ['code', 'key', 'codes-kept', 'x'])
      assert.equal((await post({ step, code: '000000', credential: '{}' })).status, 400, step)
    assert.equal((await post({ step: 'add-key', credential: '{"id":1}' })).status, 400)
    const stolen = await aBrowser().go(url, { step: 'codes-kept' })
    assert.deepEqual([stolen.status, /Sign-in expired/.test(stolen.text)], [400, true])
    assert.match((await post({ step: 'cancel' })).text, /<h1>Sign in<\/h1>/)
    assert.match((await browser.go(url)).text, /<h1>Sign in<\/h1>/)
    const noSession = await browser.go(clientOf(realms.required).authUrl(pkce().challenge, { prompt: 'none' }))
    assert.match(noSession.location, /error=login_required/)
  })

  test('a realm that requires a second factor does not remove the last factor of a user, but removes other factors', async () => {
    const { browser, account } = await withApp('required')
    const idsIn = (html: string) => [...html.matchAll(/name="id" value="([^"]+)"/g)].map(([, id]) => id!)
    const [id] = idsIn((await browser.go(account)).text)
    const kept = await browser.go(`${account}/remove-factor`, { id: id! })
    assert.deepEqual([kept.status, /a second factor is required here/.test(kept.text)], [400, true])
    await browser.go(`${account}/add-factor`, {})
    const secret = secretIn((await browser.go(account)).text)
    assert.equal(
      (await browser.go(account, { step: 'add-app', code: codeOf(secret) })).status,
      303,
      'the first code of a new app must be accepted',
    )
    assert.equal(idsIn((await browser.go(account)).text).length, 2)
    assert.equal((await browser.go(`${account}/remove-factor`, { id: 'x' })).status, 404)
    assert.equal((await browser.go(`${account}/remove-factor`, { id: id! })).status, 303)
    assert.equal(idsIn((await browser.go(account)).text).length, 1)
  })
})

suite('a code', () => {
  test('a code of an authenticator app works once, even if two logins use it at the same time', async () => {
    const { username, secret } = await withApp('optional')
    const code = codeOf(secret)
    const [one, two] = [await aSignIn('optional'), await aSignIn('optional')]
    for (const login of [one, two]) assert.match((await login.post({ username, password })).text, /Second factor/)
    const answers = await Promise.all([one, two].map(({ post }) => post({ step: 'code', code })))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 401])
    const third = await aSignIn('optional')
    await third.post({ username, password })
    assert.equal(
      (await third.post({ step: 'code', code })).status,
      401,
      'a code that was already used must be rejected',
    )
    assert.equal(
      (await third.post({ step: 'code', code: codeOf(secret, -1) })).status,
      401,
      'an older code must be rejected',
    )
    nextStep()
    await third.complete(await third.post({ step: 'code', code: codeOf(secret) }))
  })

  test('after ten wrong codes, codes are locked out; a right password does not reset the count', async () => {
    const { username, secret } = await withApp('optional')
    const statuses: number[] = []
    for (let login = 0; login < 3; login++) {
      const { post } = await aSignIn('optional')
      const response = await post({ username, password })
      assert.equal(response.status, 200, 'the password itself must not be locked')
      for (let n = 0; n < 4; n++) statuses.push((await post({ step: 'code', code: `00000${n}` })).status)
    }
    assert.deepEqual(statuses.slice(0, 10), Array(10).fill(401))
    const { post, complete } = await aSignIn('optional')
    await post({ username, password })
    const locked = await post({ step: 'code', code: codeOf(secret) })
    assert.equal(locked.status, 429)
    assert.ok(Number(locked.headers.get('retry-after')) > 0)
    const grant = await clientOf(realms.optional).logIn(username, { totp: codeOf(secret) })
    assert.equal(grant.status, 429, 'the password grant must share the lockout')
    time += 120_000
    await complete(await post({ username, password }).then(() => post({ step: 'code', code: codeOf(secret) })))
  })

  test('a recovery code works once, in any spelling, and the other codes stay valid', async () => {
    const { username, codes, secret } = await withApp('optional')
    const first = await aSignIn('optional')
    await first.post({ username, password })
    assert.equal((await first.post({ step: 'code', code: 'aaaa-aaaa-aaaa-aaaa' })).status, 401)
    await first.complete(await first.post({ step: 'code', code: codes[3]!.toUpperCase().replaceAll('-', ' ') }))
    const second = await aSignIn('optional')
    await second.post({ username, password })
    assert.equal((await second.post({ step: 'code', code: codes[3]! })).status, 401)
    await second.complete(await second.post({ step: 'code', code: codes[4]! }))
    const rows = await waypost.kit.db.sql`select hash from identity.recovery_codes`
    assert.ok(rows.every(({ hash }) => hash.length === 32))
    const other = await withApp('optional')
    const third = await aSignIn('optional')
    await third.post({ username, password })
    assert.equal(
      (await third.post({ step: 'code', code: other.codes[0]! })).status,
      401,
      'the code of another user must be rejected',
    )
    await third.complete(await third.post({ step: 'code', code: codeOf(secret) }))
  })

  test('a user replaces all recovery codes by new codes on the account page', async () => {
    const { browser, account, codes, username } = await withApp('optional')
    assert.equal((await browser.go(`${account}/recovery-codes`, {})).status, 303)
    const fresh = codesIn((await browser.go(account)).text)
    assert.equal(fresh.length, 10)
    await browser.go(account, { step: 'codes-kept' })
    assert.match((await browser.go(account)).text, /10 recovery codes/)
    const login = await aSignIn('optional')
    await login.post({ username, password })
    assert.equal((await login.post({ step: 'code', code: codes[0]! })).status, 401)
    await login.complete(await login.post({ step: 'code', code: fresh[0]! }))
  })
})

suite('a realm with optional second factors', () => {
  test('a realm with optional second factors asks only users who have a second factor', async () => {
    const { username } = await newUser('optional')
    const plain = await aSignIn('optional')
    await plain.complete(await plain.post({ username, password }))
    assert.equal((await clientOf(realms.optional).logIn(username)).status, 200)
  })

  test('a realm with optional second factors also asks for the factor on the account page, before anything can be changed', async () => {
    const { username, secret, account } = await withApp('optional')
    const browser = aBrowser()
    await browser.go(account, { username, password })
    assert.match((await browser.go(account)).text, /Code of your app/)
    const forms: [string, Record<string, string>][] = [
      ['password', { present: password, new: 'another good phrase', again: 'another good phrase' }],
      ['add-factor', {}],
      ['recovery-codes', {}],
      ['remove-factor', { id: 'x' }],
    ]
    for (const [path, form] of forms) assert.equal((await browser.go(`${account}/${path}`, form)).status, 401, path)
    assert.equal((await browser.go(account, { step: 'code', code: codeOf(secret) })).status, 303)
    const page = await browser.go(account)
    assert.match(page.text, /Authenticator app/)
    const [, id = ''] = /name="id" value="([^"]+)"/.exec(page.text)!
    assert.equal((await browser.go(`${account}/remove-factor`, { id })).status, 303)
    const free = await aSignIn('optional')
    await free.complete(await free.post({ username, password }))
  })

  test('a realm that turns second factors off asks no user for a factor, and keeps the factors of its users', async () => {
    const { username, secret } = await withApp('optional')
    const set = (secondFactor: string) => admins.optional('PUT /iam/api/v1/realm', { secondFactor })
    await set('off')
    const plain = await aSignIn('optional')
    await plain.complete(await plain.post({ username, password }))
    await set('optional')
    const { post } = await aSignIn('optional')
    assert.match((await post({ username, password })).text, /Second factor/)
    assert.equal((await post({ step: 'code', code: codeOf(secret) })).status, 303)
  })

  test('the account page of a realm without second factors does not offer to add one', async () => {
    const { username } = await newUser('off')
    const browser: Browser = aBrowser()
    const account = `${realms.off.url}/account`
    await browser.go(account, { username, password })
    assert.ok(!(await browser.go(account)).text.includes('Second factors'))
    assert.equal((await browser.go(`${account}/add-factor`, {})).status, 400)
  })
})

suite('the password grant', () => {
  test('the password grant needs the code of the app in totp', async () => {
    const { username, secret, codes } = await withApp('optional')
    const client = clientOf(realms.optional)
    const missing = await client.logIn(username)
    assert.deepEqual([missing.status, missing.body.error], [400, 'invalid_grant'])
    assert.match(missing.body.error_description, /send the code of its app in the parameter totp/)
    for (const totp of ['000000', 'x', codes[0]!, codeOf(secret, -3)]) {
      const wrong = await client.logIn(username, { totp })
      assert.deepEqual([wrong.status, wrong.body.error], [400, 'invalid_grant'], totp)
    }
    const totp = codeOf(secret)
    assert.equal((await client.logIn(username, { totp, password: 'wrong' })).status, 400)
    assert.equal((await client.logIn(username, { totp })).status, 200)
    assert.equal((await client.logIn(username, { totp })).status, 400, 'a replay')
  })

  test('the password grant is rejected if the realm requires a second factor and the user has no second factor', async () => {
    const { username } = await newUser('required')
    const answer = await clientOf(realms.required).logIn(username, { totp: '123456' })
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_grant'])
    assert.match(answer.body.error_description, /not fully set up/)
  })
})

suite('administrators', () => {
  test('administrators can see and remove the factors of a user, but see no secrets', async () => {
    const { id, username } = await withApp('required')
    const path = `/iam/api/v1/users/${id}/second-factors`
    const { body } = await admins.required(`GET ${path}`)
    assert.deepEqual(
      [
        body.content.length,
        body.content[0].kind,
        Object.keys(body.content[0]).includes('secretSealed'),
        body.recoveryCodes,
      ],
      [1, 'totp', false, 10],
    )
    assert.equal((await admins.off(`GET ${path}`)).status, 404)
    assert.equal((await admins.off(`DELETE ${path}`)).status, 404)
    assert.equal((await admins.required(`DELETE ${path}`)).status, 204)
    assert.deepEqual((await admins.required(`GET ${path}`)).body, { content: [], recoveryCodes: 0 })
    const { post } = await aSignIn('required')
    assert.match((await post({ username, password })).text, /Add a second factor/)
  })

  test('a caller cannot remove the second factors of a user who has more permissions', async () => {
    const { id } = await withApp('required')
    const holder = (...scopes: string[]) =>
      waypost.as(aCaller({ tenantId: 'required', on: { 'tenant-system': scopes } }))
    const manager = holder('identity:user:update')
    assert.equal((await manager(`DELETE /iam/api/v1/users/${id}/second-factors`)).status, 403)
    const reader = holder('identity:user:read', 'identity:user:update')
    assert.equal((await reader('PUT /iam/api/v1/realm', { secondFactor: 'off' })).status, 403)
    assert.equal((await reader('GET /iam/api/v1/realm')).status, 403)
  })

  test('an unknown mode of second factors is rejected', async () => {
    for (const body of [{ secondFactor: 'sometimes' }, {}, { secondFactor: null }, { secondFactor: ['off'] }]) {
      const answer = await admins.off('PUT /iam/api/v1/realm', body)
      assert.equal(answer.status, 400)
      assert.match(answer.body.message, /secondFactor/)
    }
    assert.deepEqual((await admins.required('GET /iam/api/v1/realm')).body, { secondFactor: 'required' })
  })
})
