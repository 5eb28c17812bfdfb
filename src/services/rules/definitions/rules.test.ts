/** Tests rules over the HTTP API: fields, versions, ETags, lists and permissions. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../../test/harness/builders.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { loadChanges, loadDefinitions } from './store/load.ts'

const { waypost, admin, other, expectStatus, get, aRule } = await openRules()
const { sql } = waypost.kit.db

suite('a rule', () => {
  test('a new rule is enabled, has version 1 and no runs', async () => {
    const id = await aRule({ name: 'hot', expression: 'return 1 > 0', description: 'd', uiMetadata: '{"x":1}' })
    const { createdAt, updatedAt, ...rule } = await get(`/rules/${id}`)
    const statistics = { minDuration: 0, maxDuration: 0, avgDuration: 0, lastDuration: 0, count: 0 }
    const fields = { name: 'hot', expression: 'return 1 > 0', description: 'd', uiMetadata: '{"x":1}' }
    assert.deepEqual(rule, { id, ...fields, state: 'ENABLED', statistics, version: 1 })
    assert.equal(createdAt, updatedAt)
  })

  test('a rule gets a new version with every change, and earlier versions can be read', async () => {
    const id = await aRule({ name: 'first', description: 'gone' })
    const second = { name: 'second', expression: 'return false', state: 'DISABLED' }
    await expectStatus(204, `PUT ${rulesRoot}/rules/${id}`, second)
    await expectStatus(204, `PUT ${rulesRoot}/rules/${id}`, second)
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
    assert.deepEqual([updatedAt, content[0].updatedAt], [rule.createdAt, rule.updatedAt])
    assert.ok(updatedBy)
    await expectStatus(404, `GET ${rulesRoot}/rules/${id}/versions/3`)
  })

  test('a rule can have texts of the maximum length, with any characters', async () => {
    const [letters, emoji] = ['漢'.repeat(60_000), '😀'.repeat(65_536)]
    const fields = { expression: `return 1 // ${letters}`, uiMetadata: emoji }
    assert.equal((await get(`/rules/${await aRule(fields)}`)).uiMetadata, emoji)
  })

  test('a rule that does not parse is answered with 400, line and column', async () => {
    const answer = await expectStatus(400, `POST ${rulesRoot}/rules`, { name: 'x', expression: 'let a\nreturn {{' })
    assert.match(answer.body.message, /^expression: line 2, column \d+: /)
  })

  test('a rule honours If-Match and If-None-Match', async () => {
    const id = await aRule()
    const path = `${rulesRoot}/rules/${id}`
    const { etag } = (await admin(`GET ${path}`)).headers as { etag: string }
    assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': etag })).status, 304)
    const body = { name: 'y', expression: 'return 2' }
    assert.equal((await admin(`PUT ${path}`, body, { 'if-match': '"other"' })).status, 412)
    assert.equal((await admin(`PUT ${path}`, body, { 'if-match': etag })).status, 204)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': etag })).status, 412)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': '' })).status, 204)
    await expectStatus(404, `GET ${path}`)
  })

  test('a rule of another tenant and an invalid id are answered with 404', async () => {
    const id = await aRule()
    for (const path of [`${rulesRoot}/rules/${id}`, `${rulesRoot}/rules/nothing`]) {
      assert.equal((await other(`GET ${path}`)).status, 404)
      assert.equal((await other(`PUT ${path}`, { name: 'x', expression: 'return 1' })).status, 404)
      assert.equal((await other(`DELETE ${path}`)).status, 404)
    }
  })
})

suite('a list', () => {
  const marker = crypto.randomUUID()
  const namesOf = async (query: string) =>
    (await get(`/rules?description=${marker}&${query}`)).content.map(({ name }: { name: string }) => name)

  test('a list has pages, in the order of creation or change', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.push(await aRule({ name, description: `of ${marker.toUpperCase()}` }))
    assert.deepEqual(await namesOf(''), ['c', 'b', 'a'])
    assert.deepEqual(await namesOf('sortOrder=asc&size=2'), ['a', 'b'])
    assert.deepEqual(await namesOf('sortOrder=asc&size=2&page=1'), ['c'])
    assert.equal((await get(`/rules?description=${marker}&size=1&page=7`)).totalElements, 3)
    await expectStatus(204, `PUT ${rulesRoot}/rules/${ids[0]}`, {
      name: 'a2',
      description: marker,
      expression: 'return 1',
    })
    assert.deepEqual(await namesOf('sort=updatedAt'), ['a2', 'c', 'b'])
    for (const query of ['size=0', 'size=10001', 'page=-1', 'sort=name', 'sortOrder=up', 'include=x'])
      await expectStatus(400, `GET ${rulesRoot}/rules?${query}`)
  })

  test('a search in a list treats %, _ and quotes as ordinary characters', async () => {
    for (const name of ['100%', '100_', "it's"]) await aRule({ name, description: marker })
    assert.deepEqual(await namesOf(`name=${encodeURIComponent('0%')}`), ['100%'])
    assert.deepEqual(await namesOf('name=0_'), ['100_'])
    assert.deepEqual(await namesOf(`name=${encodeURIComponent("IT'S")}`), ["it's"])
  })

  test('a list contains only the objects that the caller may read', async () => {
    const id = await aRule({ description: marker })
    const reader = waypost.as(aCaller({ on: { [`rule-${id}`]: ['rule:read'] } }))
    const { totalElements, content } = await get('/rules', reader)
    assert.deepEqual([totalElements, content[0].id], [1, id])
    assert.equal((await get('/rules', waypost.as(aCaller()))).totalElements, 0)
    await expectStatus(403, `PUT ${rulesRoot}/rules/${id}`, { name: 'x', expression: 'return 1' }, reader)
    await expectStatus(403, `POST ${rulesRoot}/rules`, { name: 'x' }, reader)
  })

  test('a list contains the statistics of the runs of each rule', async () => {
    const id = await aRule({ description: marker })
    await sql`
      insert into rules.statistics (entity_id, tenant_id, count, total_ms, min_ms, max_ms, last_ms)
      values (${id}, 'default', 4, 10, 1.2, 4.6, 2.5)`
    const statistics = { count: 4, minDuration: 1, maxDuration: 5, avgDuration: 3, lastDuration: 3 }
    assert.deepEqual((await get(`/rules/${id}`)).statistics, statistics)
    assert.deepEqual((await get('/rules?size=1')).content[0].statistics, statistics)
  })
})

test('the last 100 versions of a rule are kept', async () => {
  const id = await aRule()
  for (let n = 2; n <= 102; n++)
    await expectStatus(204, `PUT ${rulesRoot}/rules/${id}`, { name: `v${n}`, expression: 'return 1' })
  const { totalElements, content } = await get(`/rules/${id}/versions?size=1`)
  assert.deepEqual([totalElements, content.length, content[0].version], [100, 1, 102])
  await expectStatus(404, `GET ${rulesRoot}/rules/${id}/versions/2`)
  await expectStatus(200, `GET ${rulesRoot}/rules/${id}/versions/3`)
})

test('changes of definitions are recorded, so that the engine of each node reads them', async () => {
  const id = await aRule({ expression: 'return 7' })
  const all = await loadDefinitions(sql, 'default')
  assert.equal(all.rules.find((rule) => rule.id === id)?.expression, 'return 7')
  await expectStatus(204, `PUT ${rulesRoot}/rules/${id}`, { name: 'x', expression: 'return 8' })
  const changed = await loadChanges(sql, 'default', all.revision)
  assert.deepEqual(
    changed?.rules.map(({ id, expression }) => [id, expression]),
    [[id, 'return 8']],
  )
  await expectStatus(204, `DELETE ${rulesRoot}/rules/${id}`)
  assert.deepEqual((await loadChanges(sql, 'default', changed!.revision))?.gone, [id])
})
