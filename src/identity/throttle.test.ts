import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { basic, clientOf, type IdentityHouse, openIdentity, type Realm } from '../../test/harness/realms.ts'
import { createCore } from './core.ts'

let house: IdentityHouse
let realm: Realm
let client: ReturnType<typeof clientOf>
let offsetMs = 0
const now = () => new Date(Date.now() + offsetMs)
const later = (seconds: number) => {
  offsetMs += seconds * 1000
}

before(async () => {
  house = await openIdentity({
    now,
    environment: { WAYPOST_LOGIN_ATTEMPTS_PER_ACCOUNT: '2', WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '30' },
  })
  realm = await house.addRealm('acme')
  client = clientOf(realm)
  await house.addUser('acme', 'ada')
})

const forgetAll = () => house.kit.db.sql`delete from identity.attempts`
const guess = (username: string) => client.logIn(username, { password: 'wrong' })
const count = (answers: { status: number }[], status: number) => answers.filter((one) => one.status === status).length

test('wrong passwords lock the account for a minute, then for two', async () => {
  for (let i = 0; i < 2; i++) assert.equal((await guess(i % 2 ? 'Ada' : 'ada@example.org')).status, 400)
  const locked = await client.logIn('ada')
  assert.equal(locked.status, 429, locked.text)
  assert.equal(locked.body.error, 'temporarily_unavailable')
  assert.ok(Number(locked.headers.get('retry-after')) <= 60)
  later(61)
  for (let i = 0; i < 2; i++) assert.equal((await guess('ada')).status, 400)
  later(61)
  assert.equal((await client.logIn('ada')).status, 429, 'the second lock is longer')
  later(61)
  assert.equal((await client.logIn('ada')).status, 200)
  await forgetAll()
})

test('guesses at the same time do not get past the limit', async () => {
  const answers = await Promise.all(Array.from({ length: 16 }, () => guess('ada')))
  assert.deepEqual([count(answers, 400), count(answers, 429)], [2, 14])
  await forgetAll()
  const names = await Promise.all(Array.from({ length: 8 }, () => guess('nobody')))
  assert.deepEqual([count(names, 400), count(names, 429)], [2, 6], 'a name without a user is treated alike')
  await forgetAll()
})

test('right passwords lock nobody out', async () => {
  for (let i = 0; i < 3; i++) assert.equal((await client.logIn('ada')).status, 200)
  const [row] = await house.kit.db.sql`select coalesce(sum(failures), 0)::integer as failures from identity.attempts`
  assert.equal(row?.failures, 0)
})

test('wrong client secrets lock the client, and a right one starts anew', async () => {
  const wrong = () => client.token({ grant_type: 'client_credentials' }, basic(realm.backend, 'wrong'))
  assert.equal((await wrong()).status, 401)
  assert.equal((await client.serviceAccount()).status, 200)
  const answers = await Promise.all(Array.from({ length: 12 }, wrong))
  assert.deepEqual([count(answers, 401), count(answers, 429)], [2, 10])
  assert.equal((await client.serviceAccount()).status, 429)
  later(61)
  assert.equal((await client.serviceAccount()).status, 200)
  await forgetAll()
})

test('an address that tries many names or clients is locked, and a refused attempt does not count twice', async () => {
  const unknown = (i: number) =>
    client.token({ grant_type: 'client_credentials', client_id: `c${i}`, client_secret: 'x' })
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => unknown(i)))
  assert.deepEqual([count(answers, 401), count(answers, 429)], [30, 10])
  assert.equal((await client.logIn('ada')).status, 429)
  assert.equal((await client.serviceAccount()).status, 429)
  later(61)
  assert.equal((await client.logIn('ada')).status, 200)
})

test('what was counted is forgotten when it means nothing any more', async () => {
  await guess('somebody')
  const core = createCore(house.kit)
  await house.kit.db.tx((sql) => core.throttle.prune(sql))
  const rows = () => house.kit.db.sql`select key from identity.attempts`
  assert.ok((await rows()).length > 0)
  later(2 * 86_400)
  await house.kit.db.tx((sql) => core.throttle.prune(sql))
  assert.equal((await rows()).length, 0)
})
