/** Rules over the HTTP API: fields, versions, ETags, lists, permissions. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { loadChanges, loadDefinitions } from './store/load.ts'

const { waypost, admin, other, must, get, aRule } = await openRules()
const { sql } = waypost.kit.db

suite('a rule', () => {
  test('is created enabled, as version 1, without runs', async () => {
    const id = await aRule({ name: 'hot', expression: 'return 1 > 0', description: 'd', uiMetadata: '{"x":1}' })
    const { createdAt, updatedAt, ...rule } = await get(`/rules/${id}`)
    const statistics = { minDuration: 0, maxDuration: 0, avgDuration: 0, lastDuration: 0, count: 0 }
    const fields = { name: 'hot', expression: 'return 1 > 0', description: 'd', uiMetadata: '{"x":1}' }
    assert.deepEqual(rule, { id, ...fields, state: 'ENABLED', statistics, version: 1 })
    assert.equal(createdAt, updatedAt)
  })

  test('gets a new version with every change, which stays readable', async () => {
    const id = await aRule({ name: 'first', description: 'gone' })
    const second = { name: 'second', expression: 'return false', state: 'DISABLED' }
    await must(204, `PUT ${rulesRoot}/rules/${id}`, second)
    await must(204, `PUT ${rulesRoot}/rules/${id}`, second)
    const rule = await get(`/rules/${id}`)
    assert.deepEqual([rule.version, rule.name, rule.state, 'description' in rule], [2, 'second', 'DISABLED', false])
    const { totalElements, content } = await get(`/rules/${id}/versions`)
    assert.equal(totalElements, 2)
    assert.deepEqual(
      content.map(({ version, name }: { version: number; name: string }) => [version, name]),
      [
        [2, 'second'],
        [1, 'first'],
      ],
    )
    const { updatedAt, updatedBy, ...first } = await get(`/rules/${id}/versions/1`)
    const written = { name: 'first', description: 'gone', expression: 'return true', state: 'ENABLED' }
    assert.deepEqual(first, { version: 1, ...written })
    assert.ok(updatedAt && updatedBy)
    await must(404, `GET ${rulesRoot}/rules/${id}/versions/3`)
  })

  test('that does not parse is 400 with line and column', async () => {
    const answer = await must(400, `POST ${rulesRoot}/rules`, { name: 'x', expression: 'let a\nreturn {{' })
    assert.match(answer.body.message, /^expression: line 2, column \d+: /)
  })

  test('honours If-Match and If-None-Match', async () => {
    const id = await aRule()
    const path = `${rulesRoot}/rules/${id}`
    const { etag } = (await admin(`GET ${path}`)).headers as { etag: string }
    assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': etag })).status, 304)
    const body = { name: 'y', expression: 'return 2' }
    assert.equal((await admin(`PUT ${path}`, body, { 'if-match': '"other"' })).status, 412)
    assert.equal((await admin(`PUT ${path}`, body, { 'if-match': etag })).status, 204)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': etag })).status, 412)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': '' })).status, 204)
    await must(404, `GET ${path}`)
  })

  test('of another tenant is 404, and so is an id that is none', async () => {
    const id = await aRule()
    for (const path of [`${rulesRoot}/rules/${id}`, `${rulesRoot}/rules/nothing`]) {
      assert.equal((await other(`GET ${path}`)).status, 404)
      assert.equal((await other(`PUT ${path}`, { name: 'x', expression: 'return 1' })).status, 404)
      assert.equal((await other(`DELETE ${path}`)).status, 404)
    }
  })
})

test('changes are recorded for the engine', async () => {
  const id = await aRule({ expression: 'return 7' })
  const all = await loadDefinitions(sql, 'default')
  assert.equal(all.rules.find((rule) => rule.id === id)?.expression, 'return 7')
  await must(204, `PUT ${rulesRoot}/rules/${id}`, { name: 'x', expression: 'return 8' })
  const changed = await loadChanges(sql, 'default', all.revision)
  assert.deepEqual(
    changed?.rules.map(({ id, expression }) => [id, expression]),
    [[id, 'return 8']],
  )
  await must(204, `DELETE ${rulesRoot}/rules/${id}`)
  assert.deepEqual((await loadChanges(sql, 'default', changed!.revision))?.gone, [id])
})
