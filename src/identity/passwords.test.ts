import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../config.ts'
import { createPasswords } from './passwords.ts'
import { hideSecrets } from './provider/realm-routes.ts'

test('a password matches only its own hash, whether its accents are composed or decomposed characters', async () => {
  const passwords = createPasswords(loadConfig({}).platform.passwordCost.scrypt)
  const hash = await passwords.hash('caf\u00e9')
  assert.match(hash, /^scrypt\$16384\$8\$5\$/)
  assert.equal(await passwords.matches('cafe\u0301', hash), true)
  assert.equal(await passwords.matches('cafe', hash), false)
  assert.equal(await passwords.matches('caf\u00e9', undefined), false)
  assert.notEqual(await passwords.hash('caf\u00e9'), hash)
})

test('password checks above the queue limit are rejected immediately, and queued checks complete', async () => {
  const passwords = createPasswords(loadConfig({}).platform.passwordCost.scrypt)
  const cheapHash = 'scrypt$1024$8$1$c2FsdA$AAAA'
  const results = await Promise.allSettled(Array.from({ length: 80 }, () => passwords.matches('x', cheapHash)))
  const refused = results.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  assert.equal(refused.length, 80 - 2 - 64)
  assert.ok(refused.every(({ reason }) => reason.code === 'too_many_logins' && reason.status === 503))
  assert.equal(await passwords.matches('x', cheapHash), false, 'the queue must accept checks again')
})

test('a flood of checks of one tenant neither delays nor rejects a check of another tenant', async () => {
  const passwords = createPasswords(loadConfig({}).platform.passwordCost.scrypt)
  const cheapHash = 'scrypt$1024$8$1$c2FsdA$AAAA'
  let checked = 0
  const flood = Promise.allSettled(
    Array.from({ length: 200 }, () => passwords.matches('x', cheapHash, 'noisy').then(() => checked++)),
  )
  assert.equal(await passwords.matches('x', cheapHash, 'quiet'), false)
  assert.ok(checked <= 8, `${checked} checks of the flood ran before the check of the quiet tenant`)
  await flood
  assert.equal(checked, 2 + 64)
})

test('a flood of checks from one address neither delays nor rejects a check of the same tenant from another address', async () => {
  const passwords = createPasswords(loadConfig({}).platform.passwordCost.scrypt)
  const cheapHash = 'scrypt$1024$8$1$c2FsdA$AAAA'
  let checked = 0
  const flood = Promise.allSettled(
    Array.from({ length: 200 }, () => passwords.matches('x', cheapHash, 'acme', '10.0.0.1').then(() => checked++)),
  )
  const others = ['10.0.0.2', '10.0.0.3', '2001:db8::1'].map((address) =>
    passwords.matches('x', cheapHash, 'acme', address),
  )
  assert.deepEqual(await Promise.all(others), [false, false, false])
  assert.ok(checked <= 12, `${checked} checks of the flood ran before the check of the quiet address`)
  await flood
  assert.ok(checked >= 2 + 64 - 3, String(checked))
})

test('the logged URL contains no secrets', () => {
  assert.equal(
    hideSecrets('?client_id=a&id_token_hint=ey.J.x&code=c&state=s&Token=t'),
    '?client_id=a&id_token_hint=[hidden]&code=[hidden]&state=s&Token=[hidden]',
  )
})
