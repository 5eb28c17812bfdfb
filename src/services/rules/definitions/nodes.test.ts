/** Tests that other nodes know a change within a second, or within a few seconds if the signal is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/harness/database.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { createChanges } from './changes.ts'
import { createSecretValues } from './service/secret-values.ts'
import { increaseRevision } from './store/revisions.ts'

const options = { connection: await freshDatabase(), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const one = await openRules(options)
const two = await openRules(options)

test('a node receives changes of definitions from another node', async () => {
  const changedTenants: (string | undefined)[] = []
  createChanges(two.waypost.kit).onChange((tenantId) => void changedTenants.push(tenantId))
  await one.aRule()
  await eventually(() => assert.ok(changedTenants.includes('default')), { withinMs: 1000 })
})

test('a node finds a change whose signal was lost, even if another transaction with a later id was committed earlier', async () => {
  const { sql } = one.waypost.kit.db
  const changedTenants: (string | undefined)[] = []
  const changes = createChanges(two.waypost.kit)
  changes.onChange((tenantId) => void changedTenants.push(tenantId))
  await eventually(() => assert.ok(changedTenants.includes(undefined)), { withinMs: 3000 })
  await one.waypost.kit.db.tx(async (late) => {
    await increaseRevision(late, 'late', [])
    await increaseRevision(sql, 'early', [])
    await eventually(() => assert.ok(changedTenants.includes('early')), { withinMs: 2500 })
    assert.ok(!changedTenants.includes('late'))
  })
  await eventually(() => assert.ok(changedTenants.includes('late')), { withinMs: 2500 })
})

test('a secret that is changed on one node has its new value on the other node within a second', async () => {
  const values = createSecretValues(two.waypost.kit)
  const id = await one.make('/secrets', { name: 'shared', value: 'first' })
  await eventually(async () => assert.equal(await values.secretValue('default', 'shared'), 'first'), { withinMs: 1000 })
  await one.expectStatus(204, `PUT ${rulesRoot}/secrets/${id}`, { value: 'second' })
  await eventually(async () => assert.equal(await values.secretValue('default', 'shared'), 'second'), {
    withinMs: 1000,
  })
})

test('links that two nodes add at the same time are all stored, each at its own position', async () => {
  const ruleId = await one.aRule()
  const ids = await Promise.all(Array.from({ length: 20 }, () => one.aTrigger('cron', { cronExpression: '0 0 * * *' })))
  const path = `${rulesRoot}/rules/${ruleId}/trigger-types/cron/triggers`
  await Promise.all(ids.map((id, index) => (index % 2 === 0 ? one : two).expectStatus(204, `PATCH ${path}`, [id])))
  const linked = (await one.get(`/rules/${ruleId}/triggers`)).map(({ id }: { id: string }) => id)
  assert.deepEqual(linked.toSorted(), ids.toSorted())
  const [row] = await one.waypost.kit.db.sql`
    select count(distinct position) from rules.rule_triggers where rule_id = ${ruleId}`
  assert.equal(row?.count, 20)
})
