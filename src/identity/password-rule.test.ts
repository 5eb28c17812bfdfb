import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ada, openRule } from '../../test/harness/password-rule.ts'

const refused: [string, RegExp][] = [
  ['short', /8 to 256 characters/],
  ['x'.repeat(257), /8 to 256 characters/],
  ['aaaaaaaaaaaa', /four different/],
  ['qwertyuiop', /most common/],
  ['PASSWORD1', /most common/],
  ['Password2024!', /most common/],
  ['letmein12', /most common/],
  ['Lovelace in Paris', /user name/],
  ['its-lovelace-again', /user name/],
  ['countess-4-ever', /user name/],
  ['half \ud800 pair here', /NUL/],
]
for (const [password, problem] of refused)
  test(`the password ${JSON.stringify(password.slice(0, 24))} is rejected`, async () => {
    assert.match((await openRule().problemOf(password, ada)) ?? '', problem)
  })

for (const password of ['correct horse battery', 'tr0ub4dor&3x', 'Zahnbürste-7', '🔑🌲🚲🍎🎹🧲🪁🛶'])
  test(`the password ${JSON.stringify(password)} is accepted`, async () => {
    assert.equal(await openRule().problemOf(password, ada), undefined)
  })

test('settings can require longer passwords and allow common passwords, but cannot allow fewer than 8 characters', async () => {
  const long = openRule({ WAYPOST_PASSWORD_LENGTH: '14' })
  assert.match((await long.problemOf('correct horse', ada)) ?? '', /14 to 256/)
  assert.equal(await long.problemOf('correct horse!', ada), undefined)
  const lax = openRule({ WAYPOST_PASSWORD_LENGTH: '8', WAYPOST_PASSWORD_ALLOW_COMMON: 'on' })
  assert.equal(await lax.problemOf('qwertyuiop', ada), undefined)
  assert.match((await lax.problemOf('1234567', ada)) ?? '', /8 to 256/)
  assert.throws(() => openRule({ WAYPOST_PASSWORD_LENGTH: '7' }), /from 8 to 64/)
})

test('a password may contain a username of three characters', async () => {
  assert.equal(await openRule().problemOf('canada maple tree', { username: 'ada' }), undefined)
})
