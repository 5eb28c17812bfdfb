import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newTotpSecret, stepAt, stepOfCode, totpCode, totpUri } from './totp.ts'

/** The secret of RFC 6238, appendix B: `12345678901234567890` in base32. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

for (const [seconds, code] of [
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
] as const)
  test(`the code at ${seconds} seconds is the code that RFC 6238 lists`, () => {
    assert.equal(totpCode(secret, stepAt(new Date(seconds * 1000))), code)
  })

test('codes of the present, the previous and the next time step are accepted, and other codes are rejected', () => {
  const at = new Date('2026-01-01T00:00:10Z')
  const step = stepAt(at)
  for (const near of [-1, 0, 1]) assert.equal(stepOfCode(secret, totpCode(secret, step + near), at), step + near)
  for (const far of [-2, 2, 100]) assert.equal(stepOfCode(secret, totpCode(secret, step + far), at), undefined)
  for (const wrong of ['', '12345', '1234567', 'abcdef', '١٢٣٤٥٦'])
    assert.equal(stepOfCode(secret, wrong, at), undefined)
})

test('a new secret has 160 bits, and its otpauth address escapes the names of issuer and user', () => {
  const one = newTotpSecret()
  assert.match(one, /^[A-Z2-7]{32}$/)
  assert.notEqual(one, newTotpSecret())
  assert.equal(
    totpUri(secret, { issuer: 'Acme & Co', username: 'a:b@c' }),
    `otpauth://totp/Acme%20%26%20Co:a%3Ab%40c?secret=${secret}&issuer=Acme%20%26%20Co`,
  )
})
