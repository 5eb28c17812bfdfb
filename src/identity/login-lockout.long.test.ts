import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import {
  basic,
  clientOf,
  type IdentityPlatform,
  openIdentity,
  password,
  type Realm,
  type Reply,
} from '../../test/harness/realms.ts'
import { fromAllAddresses } from '../kernel/lockout.ts'
import { createCore } from './core.ts'
import { TooManyLogins } from './errors.ts'
import { insertUser } from './store/users.ts'

let waypost: IdentityPlatform
let realm: Realm
let client: ReturnType<typeof clientOf>
let offsetMs = 0
const now = () => new Date(Date.now() + offsetMs)
const later = (seconds: number) => {
  offsetMs += seconds * 1000
}

before(async () => {
  waypost = await openIdentity({
    now,
    environment: { WAYPOST_LOGIN_ATTEMPTS_PER_ACCOUNT: '2', WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '30' },
  })
  realm = await waypost.addRealm('acme')
  client = clientOf(realm)
  await waypost.addUser('acme', 'ada')
})

const resetAll = () => waypost.kit.db.sql`delete from identity.attempts`
const guess = (username: string) => client.logIn(username, { password: 'wrong' })
const count = (answers: { status: number }[], status: number) => answers.filter((one) => one.status === status).length

test('wrong passwords lock the account for one minute, and further wrong passwords for two minutes', async () => {
  for (let i = 0; i < 2; i++) assert.equal((await guess(i % 2 ? 'Ada' : 'ada@example.org')).status, 400)
  const locked = await client.logIn('ada')
  assert.equal(locked.status, 429, locked.text)
  assert.equal(locked.body.error, 'temporarily_unavailable')
  assert.ok(Number(locked.headers.get('retry-after')) <= 60)
  later(61)
  for (let i = 0; i < 2; i++) assert.equal((await guess('ada')).status, 400)
  later(61)
  assert.equal((await client.logIn('ada')).status, 429, 'the second lock must be longer')
  later(61)
  assert.equal((await client.logIn('ada')).status, 200)
  await resetAll()
})

test('of many guesses at the same time, only as many are checked as the limit allows', async () => {
  const answers = await Promise.all(Array.from({ length: 16 }, () => guess('ada')))
  assert.deepEqual([count(answers, 400), count(answers, 429)], [2, 14])
  await resetAll()
  const names = await Promise.all(Array.from({ length: 8 }, () => guess('nobody')))
  assert.deepEqual(
    [count(names, 400), count(names, 429)],
    [2, 6],
    'guesses for a username that does not exist must get the same responses',
  )
  await resetAll()
})

test('correct passwords cause no lockout', async () => {
  for (let i = 0; i < 3; i++) assert.equal((await client.logIn('ada')).status, 200)
  const [row] = await waypost.kit.db.sql`select coalesce(sum(failures), 0)::integer as failures from identity.attempts`
  assert.equal(row?.failures, 0)
})

/** Reads the counters after all attempts are done. */
const counters = async () => {
  const [row] = await waypost.kit.db.sql`
    select coalesce(sum(failures), 0)::integer as failures, coalesce(sum(pending), 0)::integer as pending,
      count(locked_until)::integer as locks from identity.attempts`
  return row
}
const noCounts = { failures: 0, pending: 0, locks: 0 }
/** Asserts that attempts were rejected only because too many were in progress, and never because of a lockout. */
const assertNoLockout = (answers: Reply[]) => {
  for (const { status, headers, text } of answers) {
    assert.ok([200, 429, 503].includes(status), text)
    if (status !== 200) assert.ok(Number(headers.get('retry-after')) <= 2, text)
    assert.ok(!text.includes('failed'), text)
  }
}

test('concurrent correct passwords cause no lockout, even if more logins arrive than the platform can check', async () => {
  const toOne = await Promise.all(Array.from({ length: 20 }, () => client.logIn('ada')))
  assertNoLockout(toOne)
  assert.ok(count(toOne, 200) >= 2)
  assert.deepEqual(await counters(), noCounts)
  assert.equal((await client.logIn('ada')).status, 200)

  const [row] = await waypost.kit.db.sql`select password_hash from identity.users where username = 'ada'`
  const names = Array.from({ length: 24 }, (_, i) => `user-${i}`)
  for (const name of names)
    await insertUser(waypost.kit.db.sql, 'acme', {
      ...{ id: name, username: name, email: null, firstName: null, lastName: null, roles: [] },
      passwordHash: row!.passwordHash,
    })
  const fromOne = await Promise.all(Array.from({ length: 120 }, (_, i) => client.logIn(names[i % names.length]!)))
  assertNoLockout(fromOne)
  assert.ok(count(fromOne, 200) >= 24)
  assert.deepEqual(await counters(), noCounts)
  assert.equal((await client.logIn('user-7')).status, 200)
})

test('an attempt whose password could not be checked does not count as a failure', async () => {
  const passwords = { hash: async () => '', matches: () => Promise.reject(TooManyLogins()) }
  const { accounts } = createCore(waypost.kit, { passwords })
  const login = { username: 'ada', password, address: '192.0.2.1' }
  for (let i = 0; i < 5; i++) await assert.rejects(accounts.logIn('acme', login), TooManyLogins.is)
  assert.deepEqual(await counters(), noCounts)
})

test('login slots that a crashed node reserved are free after a minute', async () => {
  const { lockout } = createCore(waypost.kit)
  const who = { account: 'user\nacme\nlost', address: '192.0.2.2' }
  for (let i = 0; i < 2; i++) assert.ok('recordFailure' in (await lockout.reserve(who)))
  assert.deepEqual(await lockout.reserve(who), { wait: 1, locked: false })
  later(61)
  assert.ok('recordFailure' in (await lockout.reserve(who)))
  await resetAll()
})

test('wrong client secrets cause a lockout of further wrong secrets; the correct secret is always accepted', async () => {
  const wrong = () => client.token({ grant_type: 'client_credentials' }, basic(realm.backend, 'wrong'))
  assert.equal((await wrong()).status, 401)
  assert.equal((await client.serviceAccount()).status, 200)
  const answers = await Promise.all(Array.from({ length: 12 }, wrong))
  assert.deepEqual([count(answers, 401), count(answers, 429)], [2, 10])
  assert.equal((await client.serviceAccount()).status, 200)
  assert.equal((await wrong()).status, 401, 'the correct secret must reset the counter')
  await resetAll()
})

test('an address that guesses for many users or clients is locked out, and attempts during the lockout do not count', async () => {
  const unknown = (i: number) =>
    client.token({ grant_type: 'client_credentials', client_id: `c${i}`, client_secret: 'x' })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => unknown(i)))
  assert.deepEqual([count(answers, 401), count(answers, 429)], [30, 10])
  assert.equal((await client.logIn('ada')).status, 429)
  assert.equal((await client.serviceAccount()).status, 200)
  later(61)
  assert.equal((await client.logIn('ada')).status, 200)
})

test('behind a proxy, forged X-Forwarded-For entries do not avoid a lockout and do not lock out another address', async () => {
  const proxied = await openIdentity({
    environment: {
      WAYPOST_TRUST_PROXY: '127.0.0.0/8',
      WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '3',
      WAYPOST_LOG_LEVEL: 'fatal',
    },
  })
  const realm = await proxied.addRealm('behind')
  const token = (secret: string, forwarded: string) =>
    clientOf(realm).token(
      { grant_type: 'client_credentials', client_id: realm.backend, client_secret: secret },
      { 'x-forwarded-for': forwarded },
    )
  const statuses = []
  for (let i = 0; i < 6; i++) statuses.push((await token('wrong', `192.0.2.1, 203.0.113.${i}, 198.51.100.66`)).status)
  assert.deepEqual(statuses, [401, 401, 401, 429, 429, 429])
  assert.equal((await token('wrong', '203.0.113.99, 192.0.2.1')).status, 401)

  const ofOneNetwork = []
  for (let i = 0; i < 4; i++) ofOneNetwork.push((await token('wrong', `2001:db8:1:2:${i}::1`)).status)
  assert.deepEqual(ofOneNetwork, [401, 401, 401, 429], 'all addresses of an IPv6 /64 must count as one address')
  assert.equal((await token(realm.secret, '2001:db8:1:3::1')).status, 200)
})

test('wrong passwords from one address lock the account for this address only; guesses from very many addresses lock it for all addresses', async () => {
  await resetAll()
  const { accounts } = createCore(waypost.kit)
  const logIn = (address: string, value = 'wrong') =>
    accounts.logIn('acme', { username: 'ada', password: value, address })
  const outcomes = []
  for (let i = 0; i < 4; i++) outcomes.push(await logIn('198.51.100.1'))
  assert.deepEqual(outcomes.slice(0, 2), ['wrong', 'wrong'])
  assert.ok('wait' in (outcomes[3] as object))
  assert.ok('wait' in ((await logIn('198.51.100.1', password)) as object), 'the account must be locked at this address')
  assert.ok(
    'user' in ((await logIn('203.0.113.5', password)) as object),
    'the account must not be locked at another address',
  )
  // One address may guess twice. All addresses together may guess fifty times as often.
  const guesses = Array.from({ length: fromAllAddresses * 2 - 2 }, (_, n) => `203.0.${n >> 1}.1`)
  for (let from = 0; from < guesses.length; from += 14)
    await Promise.all(guesses.slice(from, from + 14).map((at) => logIn(at)))
  assert.ok('wait' in ((await logIn('192.0.2.77', password)) as object))
  await resetAll()
})

test('outdated counters are deleted', async () => {
  await guess('somebody')
  const core = createCore(waypost.kit)
  await waypost.kit.db.tx((sql) => core.lockout.prune(sql))
  const rows = () => waypost.kit.db.sql`select key from identity.attempts`
  assert.ok((await rows()).length > 0)
  later(2 * 86_400)
  await waypost.kit.db.tx((sql) => core.lockout.prune(sql))
  assert.equal((await rows()).length, 0)
})
