/** Tests snippets and secrets over the HTTP API, and the values of secrets in scripts. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../../test/harness/builders.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { createMask, createSecretValues } from './service/secret-values.ts'

const { waypost, admin, other, expectStatus, make, get } = await openRules()
const values = createSecretValues(waypost.kit)

test('a snippet is created, read, listed, changed and deleted', async () => {
  const id = await make('/snippets', { name: 'last', code: 'not { a script' })
  const path = `${rulesRoot}/snippets/${id}`
  const { headers, body } = await admin(`GET ${path}`)
  assert.deepEqual([body.name, body.code, 'description' in body], ['last', 'not { a script', false])
  assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': String(headers.etag) })).status, 304)
  await expectStatus(204, `PUT ${path}`, { name: 'first', code: 'x', description: 'd' })
  assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': String(headers.etag) })).status, 412)
  assert.equal((await get('/snippets?name=FIR')).content[0].code, 'x')
  assert.equal((await other(`GET ${path}`)).status, 404)
  await expectStatus(204, `DELETE ${path}`)
  await expectStatus(404, `GET ${path}`)
})

suite('a secret', () => {
  test('no response contains the value of a secret, which is sealed in the database', async () => {
    const id = await make('/secrets', { name: 'api.key-1', value: 'very-secret-7', description: 'd' })
    const path = `${rulesRoot}/secrets/${id}`
    for (const address of [path, `${rulesRoot}/secrets`])
      assert.doesNotMatch((await expectStatus(200, `GET ${address}`)).text, /very-secret-7|v2\./)
    const [row] = await waypost.kit.db.sql`select value from rules.secrets where id = ${id}`
    assert.doesNotMatch(row!.value, /very-secret-7/)
    assert.equal(await values.secretValue('default', 'api.key-1'), 'very-secret-7')
    assert.equal(await values.secretValue('other', 'api.key-1'), undefined)
  })

  test('single fields of a secret can be changed, and scripts get the new value immediately', async () => {
    const id = await make('/secrets', { name: 'part', value: 'old-value' })
    assert.equal(await values.maskSecrets('default', 'a old-value b'), 'a *** b')
    await expectStatus(204, `PUT ${rulesRoot}/secrets/${id}`, { value: 'new-value' })
    assert.equal(await values.secretValue('default', 'part'), 'new-value')
    assert.equal(await values.maskSecrets('default', 'a old-value new-value'), 'a old-value ***')
    await expectStatus(204, `PUT ${rulesRoot}/secrets/${id}`, { name: 'renamed', description: 'kept value' })
    assert.equal(await values.secretValue('default', 'renamed'), 'new-value')
    await expectStatus(204, `DELETE ${rulesRoot}/secrets/${id}`)
    assert.equal(await values.secretValue('default', 'renamed'), undefined)
  })

  test('a secret has a unique name of letters, digits and a few signs', async () => {
    const id = await make('/secrets', { name: 'unique', value: 'one' })
    await expectStatus(409, `POST ${rulesRoot}/secrets`, { name: 'unique', value: 'two' })
    const second = await make('/secrets', { name: 'second', value: 'one' })
    await expectStatus(409, `PUT ${rulesRoot}/secrets/${second}`, { name: 'unique' })
    await expectStatus(204, `PUT ${rulesRoot}/secrets/${id}`, { name: 'unique' })
    for (const name of ['', 'a b', 'ä', 'x'.repeat(101)])
      await expectStatus(400, `POST ${rulesRoot}/secrets`, { name, value: 'two' })
    await expectStatus(400, `POST ${rulesRoot}/secrets`, { name: 'long', value: 'x'.repeat(8193) })
    await expectStatus(201, `POST ${rulesRoot}/secrets`, { name: 'unique', value: 'two' }, other)
  })

  test('a script can read a secret only if the writer of the script may read it', async () => {
    const id = await make('/secrets', { name: 'guarded', value: 'guarded-value' })
    const allowed = aCaller({ on: { [`secret-${id}`]: ['secret:read'] } })
    assert.equal(await values.secretValue('default', 'guarded', allowed), 'guarded-value')
    assert.equal(await values.secretValue('default', 'guarded', aCaller()), undefined)
  })
})

test('the mask replaces values of secrets in texts, in JSON and in URLs, the longest value first', async () => {
  const mask = createMask(['abc', 'abcdef', 'a "b"\n&c'])
  assert.equal(await mask('abcdef abc'), '*** ***')
  assert.equal(await mask(JSON.stringify({ v: 'a "b"\n&c' })), '{"v":"***"}')
  assert.equal(await mask(`?q=${encodeURIComponent('a "b"\n&c')}`), '?q=***')
})

test('other work runs while a thousand secrets are masked in a long text', async () => {
  const mask = createMask(Array.from({ length: 1000 }, (_, n) => `${'a'.repeat(300)}b${n}`))
  let [turns, isMasked] = [0, false]
  const countTurns = () => {
    turns++
    if (!isMasked) setImmediate(countTurns)
  }
  setImmediate(countTurns)
  assert.equal(await mask(`${'a'.repeat(40_000)} ${'a'.repeat(300)}b7`), `${'a'.repeat(40_000)} ***`)
  isMasked = true
  assert.ok(turns > 10, `${turns} turns`)
})
