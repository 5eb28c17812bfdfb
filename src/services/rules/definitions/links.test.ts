/** Tests links between rules and their triggers and actions. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../../test/harness/builders.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { loadChanges, loadDefinitions } from './store/load.ts'

const { waypost, admin, other, expectStatus, get, aRule, anAction, aTrigger, anApplication } = await openRules()
const { app } = await anApplication()
const cron = (fields: object = {}) => aTrigger('cron', { cronExpression: '0 0 * * *', ...fields })
const triggersPath = (ruleId: string, type = 'cron') => `${rulesRoot}/rules/${ruleId}/trigger-types/${type}/triggers`
const actionsPath = (ruleId: string, type = 'webhook') => `${rulesRoot}/rules/${ruleId}/action-types/${type}/actions`
const idsOf = (items: { id: string }[]) => items.map(({ id }) => id)

suite('triggers of a rule', () => {
  test('PUT replaces the triggers of one type of a rule: triggers that stay keep their position, new triggers are appended', async () => {
    const ruleId = await aRule()
    const [a, b, c] = [await cron(), await cron({ name: 'named' }), await cron()]
    const alert = await aTrigger('alert-lifecycle-event', { appName: app })
    await expectStatus(204, `PUT ${triggersPath(ruleId)}`, [a, b, a])
    await expectStatus(204, `PUT ${triggersPath(ruleId, 'alert-lifecycle-event')}`, [alert])
    await expectStatus(204, `PUT ${triggersPath(ruleId)}`, [c, b])
    const triggers = await get(`/rules/${ruleId}/triggers`)
    assert.deepEqual(idsOf(triggers), [b, alert, c])
    assert.deepEqual(triggers[0], { id: b, type: 'CRON', name: 'named' })
    const { rules } = await loadDefinitions(waypost.kit.db.sql, 'default')
    assert.deepEqual(rules.find(({ id }) => id === ruleId)?.triggerIds, [b, alert, c])
  })

  test('the triggers of a rule can be sent in three forms', async () => {
    const ruleId = await aRule()
    const [a, b] = [await cron(), await cron()]
    for (const body of [[a, b], { triggerIds: [a, b] }, [{ id: a }, { id: b }], [a, { id: b, name: 'x' }]]) {
      await expectStatus(204, `PUT ${triggersPath(ruleId)}`, [])
      await expectStatus(204, `PUT ${triggersPath(ruleId)}`, body)
      assert.deepEqual(idsOf(await get(`/rules/${ruleId}/triggers`)), [a, b])
    }
  })

  test('triggers of a rule of type cron are added with PATCH', async () => {
    const ruleId = await aRule()
    const [a, b] = [await cron(), await cron()]
    await expectStatus(204, `PATCH ${triggersPath(ruleId)}`, [b])
    await expectStatus(204, `PATCH ${triggersPath(ruleId)}`, { triggerIds: [a, b] })
    assert.deepEqual(idsOf(await get(`/rules/${ruleId}/triggers`)), [b, a])
  })

  test('triggers that do not exist or that the caller may not read are answered with 400; an unknown type or rule with 404', async () => {
    const ruleId = await aRule()
    const id = await cron()
    const alert = await aTrigger('alert-lifecycle-event', { appName: app })
    for (const body of [['nothing'], [crypto.randomUUID()], [alert], [id, crypto.randomUUID()]]) {
      const answer = await expectStatus(400, `PUT ${triggersPath(ruleId)}`, body)
      assert.match(answer.body.message, /^triggerIds: there is no cron trigger/)
    }
    for (const body of [{}, 7, 'x', [7], { triggerIds: 7 }, [{}], null])
      await expectStatus(400, `PUT ${triggersPath(ruleId)}`, body)
    await expectStatus(404, `PUT ${triggersPath(ruleId, 'nothing')}`, [])
    await expectStatus(404, `PUT ${triggersPath(crypto.randomUUID())}`, [])
    await expectStatus(404, `PUT ${triggersPath(ruleId)}`, [id], other)
    await expectStatus(404, `GET ${rulesRoot}/rules/${ruleId}/triggers`, undefined, other)
    const on = { [`rule-${ruleId}`]: ['rule:read', 'rule:update'] }
    await expectStatus(400, `PUT ${triggersPath(ruleId)}`, [id], waypost.as(aCaller({ on })))
    const reader = { [`rule-${ruleId}`]: ['rule:read'] }
    await expectStatus(403, `PUT ${triggersPath(ruleId)}`, [id], waypost.as(aCaller({ on: reader })))
    assert.deepEqual(await get(`/rules/${ruleId}/triggers`), [])
  })

  test('triggers of a rule are limited to 100', async () => {
    const ruleId = await aRule()
    const ids = await Promise.all(Array.from({ length: 101 }, () => cron()))
    await expectStatus(204, `PUT ${triggersPath(ruleId)}`, ids.slice(1))
    const { body } = await expectStatus(400, `PATCH ${triggersPath(ruleId)}`, [ids[0]])
    assert.match(body.message, /^triggerIds: a rule has at most 100 triggers/)
    await expectStatus(204, `PUT ${triggersPath(ruleId)}`, ids.slice(0, 100))
  })

  test('triggers of a rule are detached when they are deleted, and the engine gets the changed rule', async () => {
    const ruleId = await aRule()
    const id = await cron()
    await expectStatus(204, `PUT ${triggersPath(ruleId)}`, [id])
    const { sql } = waypost.kit.db
    const { revision } = await loadDefinitions(sql, 'default')
    await expectStatus(204, `DELETE ${rulesRoot}/trigger-types/cron/triggers/${id}`)
    assert.deepEqual(await get(`/rules/${ruleId}/triggers`), [])
    const changes = await loadChanges(sql, 'default', revision)
    assert.deepEqual(changes?.rules.find((rule) => rule.id === ruleId)?.triggerIds, [])
  })
})

suite('actions of a rule', () => {
  test('actions of a rule are listed as positive and negative actions, in the order of attachment across all types', async () => {
    const ruleId = await aRule()
    const [a, b] = [await anAction('webhook'), await anAction('webhook')]
    const mail = await anAction('send-email')
    await expectStatus(204, `PUT ${actionsPath(ruleId)}`, { positiveActionIds: [a], negativeActionIds: [a] })
    await expectStatus(204, `PUT ${actionsPath(ruleId, 'send-email')}`, { positiveActions: [{ id: mail }] })
    await expectStatus(204, `PUT ${actionsPath(ruleId)}`, { positiveActionIds: [b, a], negativeActions: [b] })
    const { positiveActions, negativeActions } = await get(`/rules/${ruleId}/actions`)
    assert.deepEqual(idsOf(positiveActions), [a, mail, b])
    assert.deepEqual(idsOf(negativeActions), [b])
    assert.equal(positiveActions[1].type, 'SEND_EMAIL')
    const { content } = await get(`/action-types/webhook/actions?ruleId=${ruleId}`)
    assert.deepEqual(idsOf(content).sort(), [a, b].sort())
    assert.equal((await get('/action-types/webhook/actions?ruleId=nothing')).totalElements, 0)
  })

  test('an action that executes another rule is also listed for the executed rule', async () => {
    const [executed, ruleId] = [await aRule(), await aRule()]
    const id = await anAction('rule-execution', { ruleId: executed })
    await expectStatus(204, `PUT ${actionsPath(ruleId, 'rule-execution')}`, { positiveActionIds: [id] })
    for (const named of [executed, ruleId])
      assert.deepEqual(idsOf((await get(`/action-types/rule-execution/actions?ruleId=${named}`)).content), [id])
  })

  test('a wrong body with actions of a rule is answered with 400, and nothing changes', async () => {
    const ruleId = await aRule()
    const id = await anAction('webhook')
    await expectStatus(204, `PUT ${actionsPath(ruleId)}`, { positiveActionIds: [id] })
    const bad = [
      {},
      { positive: [id] },
      { positiveActionIds: [id], negativeActionIds: ['x'] },
      { positiveActionIds: 7 },
      [],
    ]
    for (const body of bad) await expectStatus(400, `PUT ${actionsPath(ruleId)}`, body)
    await expectStatus(400, `PUT ${actionsPath(ruleId)}`, { positiveActionIds: [], positiveActions: [id] })
    await expectStatus(404, `PUT ${actionsPath(ruleId, 'nothing')}`, { positiveActionIds: [] })
    await expectStatus(404, `PUT ${actionsPath(ruleId)}`, { positiveActionIds: [] }, other)
    assert.deepEqual(idsOf((await get(`/rules/${ruleId}/actions`)).positiveActions), [id])
  })

  test('actions of a rule are not deleted with the rule', async () => {
    const ruleId = await aRule()
    const id = await anAction('webhook')
    await expectStatus(204, `PUT ${actionsPath(ruleId)}`, { positiveActionIds: [id] })
    await expectStatus(204, `DELETE ${rulesRoot}/rules/${ruleId}`)
    assert.equal((await admin(`GET ${rulesRoot}/action-types/webhook/actions/${id}`)).status, 200)
  })
})
