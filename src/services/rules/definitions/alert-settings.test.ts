/** Tests alert settings. Each setting consists of rules, triggers and actions, which lists do not show. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { TenantDeleted } from '../../tenants/events.ts'
import { loadChanges, loadDefinitions } from './store/load.ts'

const { waypost, admin, other, expectStatus, make, get, anApplication, anEndpoint } = await openRules()
const { sql } = waypost.kit.db
const { app, version } = await anApplication()
const fields = {
  name: 'too hot',
  alertType: 'HEAT',
  severityLevel: 'HIGH',
  appName: app,
  activationExpression: 'return ctx.data.hot === true',
}
const notices = { emailRecipients: ['a@example.org', 'Bo <b@example.org>'], webhookUrl: 'https://example.org/x' }

/** Returns the parts of a setting in the form in which the engine loads them. */
async function partsOf(id: string) {
  const { rules, actions, triggers } = await loadDefinitions(sql, 'default')
  const rulesOfSetting = rules.filter(({ alertSettingId }) => alertSettingId === id)
  const triggerIds = new Set(rulesOfSetting.flatMap((rule) => rule.triggerIds))
  return {
    rules: rulesOfSetting,
    actions: actions.filter(({ alertSettingId }) => alertSettingId === id),
    triggers: triggers.filter((trigger) => triggerIds.has(trigger.id)),
  }
}
const typesOf = (items: { type: string }[]) => items.map(({ type }) => type).sort()

suite('an alert setting', () => {
  test('an alert setting is created, read, listed, changed and deleted', async () => {
    const id = await make('/alert-settings', { ...fields, ...notices, message: 'm', description: 'd' })
    const path = `${rulesRoot}/alert-settings/${id}`
    const { body, headers } = await admin(`GET ${path}`)
    const { createdAt, updatedAt, ...rest } = body
    assert.deepEqual(rest, { ...fields, ...notices, message: 'm', description: 'd', id, state: 'ENABLED' })
    assert.ok(createdAt && updatedAt)
    const etag = String(headers.etag)
    assert.equal((await admin(`GET ${path}`, undefined, { 'if-none-match': etag })).status, 304)
    assert.equal((await admin(`PUT ${path}`, fields, { 'if-match': '"x"' })).status, 412)
    assert.equal((await admin(`PUT ${path}`, { ...fields, name: 'renamed' }, { 'if-match': etag })).status, 204)
    const { content } = await get('/alert-settings?name=renamed')
    assert.deepEqual([content[0].id, 'message' in content[0]], [id, false])
    assert.equal((await other(`GET ${path}`)).status, 404)
    assert.equal((await admin(`DELETE ${path}`, undefined, { 'if-match': etag })).status, 412)
    await expectStatus(204, `DELETE ${path}`)
    await expectStatus(404, `GET ${path}`)
  })

  test('an alert setting creates a rule, a trigger and two actions', async () => {
    const id = await make('/alert-settings', { ...fields, message: 'hot!' })
    const { rules, actions, triggers } = await partsOf(id)
    const [rule] = rules
    assert.equal(rules.length, 1)
    assert.deepEqual([rule!.expression, rule!.state], [fields.activationExpression, 'ENABLED'])
    assert.deepEqual([typesOf(triggers), triggers[0]!.appName], [['endpoint-data-samples-received'], app])
    const activation = actions.find(({ type }) => type === 'alert-activation')!
    const resolution = actions.find(({ type }) => type === 'alert-resolution')!
    assert.equal(actions.length, 2)
    assert.deepEqual([rule!.positiveActionIds, rule!.negativeActionIds], [[activation.id], [resolution.id]])
    const alert = { alertType: 'HEAT', entityType: 'ENDPOINT' }
    assert.deepEqual(activation.fields, { ...alert, severityLevel: 'HIGH', message: 'hot!' })
    assert.deepEqual(resolution.fields, alert)
  })

  test('an alert setting updates its parts with every change', async () => {
    const id = await make('/alert-settings', { ...fields, ...notices })
    const before = await partsOf(id)
    assert.deepEqual(typesOf(before.actions), ['alert-activation', 'alert-resolution', 'send-email', 'webhook'])
    assert.deepEqual(typesOf(before.triggers), ['alert-lifecycle-event', 'endpoint-data-samples-received'])
    const { endpointId } = await anEndpoint(version)
    const { appName: _, ...rest } = fields
    const change = {
      ...rest,
      endpointIds: [endpointId],
      state: 'DISABLED',
      alertType: 'COLD',
      webhookUrl: notices.webhookUrl,
    }
    await expectStatus(204, `PUT ${rulesRoot}/alert-settings/${id}`, change)
    const after = await partsOf(id)
    assert.deepEqual(
      after.rules.map(({ id, state }) => [id, state]).sort(),
      before.rules.map(({ id }) => [id, 'DISABLED']).sort(),
    )
    assert.deepEqual(typesOf(after.actions), ['alert-activation', 'alert-resolution', 'webhook'])
    for (const trigger of after.triggers)
      assert.deepEqual([trigger.endpointIds, trigger.appName], [[endpointId], undefined])
    const lifecycle = after.triggers.find(({ type }) => type === 'alert-lifecycle-event')!
    assert.deepEqual(lifecycle.fields, { alertTypes: ['COLD'], eventTypes: ['ACTIVATED', 'RESOLVED'] })
    await expectStatus(204, `PUT ${rulesRoot}/alert-settings/${id}`, fields)
    assert.equal((await partsOf(id)).rules.length, 1)
    await expectStatus(204, `DELETE ${rulesRoot}/alert-settings/${id}`)
    assert.deepEqual(await partsOf(id), { rules: [], actions: [], triggers: [] })
  })

  test('an alert setting hides its parts from lists, and the parts can be changed only with the setting', async () => {
    const id = await make('/alert-settings', { ...fields, name: 'hidden parts' })
    const { rules, actions, triggers } = await partsOf(id)
    const [ruleId, action, triggerId] = [rules[0]!.id, actions[0]!, triggers[0]!.id]
    const triggersPath = '/trigger-types/endpoint-data-samples-received/triggers'
    const lists = ['/rules', `/action-types/${action.type}/actions`, triggersPath]
    for (const [path, partId] of lists.map((list, index) => [list, [ruleId, action.id, triggerId][index]!] as const)) {
      const idsOf = async (query: string) =>
        (await get(`${path}?name=hidden${query}`)).content.map((one: { id: string }) => one.id)
      assert.deepEqual(await idsOf(''), [])
      assert.deepEqual(await idsOf('&include=ATTACHED_TO_ALERT_SETTING'), [partId])
      const part = await get(`${path}/${partId}`)
      const { body } = await expectStatus(409, `PUT ${rulesRoot}${path}/${partId}`, part)
      assert.match(body.message, new RegExp(`belongs to alert setting ${id}`))
      await expectStatus(409, `DELETE ${rulesRoot}${path}/${partId}`)
    }
    await expectStatus(409, `PUT ${rulesRoot}/rules/${ruleId}${triggersPath}`, [])
    const ruleOfUser = await make('/rules', { name: 'r', expression: 'return 1' })
    assert.equal('alertSettingId' in (await get(`/rules/${ruleOfUser}`)), false)
    await expectStatus(409, `PUT ${rulesRoot}/rules/${ruleOfUser}${triggersPath}`, [triggerId])
  })

  test('a rule of an alert setting names the setting and its part in the setting', async () => {
    const id = await make('/alert-settings', { ...fields, name: 'both-parts', webhookUrl: 'https://hooks.example/a' })
    const { content } = await get('/rules?name=both-parts&include=ATTACHED_TO_ALERT_SETTING')
    const parts = content.map((rule: { alertSettingId: string; alertSettingPart: string }) => [
      ...[rule.alertSettingId, rule.alertSettingPart],
    ])
    assert.deepEqual(parts.sort(), [
      [id, 'ALERT'],
      [id, 'NOTICES'],
    ])
  })

  test('an alert setting with a wrong field is answered with 400 and the name of the field', async () => {
    const cases: [object, RegExp][] = [
      [{ activationExpression: 'return (' }, /^activationExpression: line 1, column \d+/],
      [{ resolutionExpression: '})(); (() => {' }, /^resolutionExpression: line 1, column 1/],
      [
        {
          activationExpression: `return '${'x'.repeat(60_000)}'`,
          resolutionExpression: `return '${'x'.repeat(6000)}'`,
        },
        /^resolutionExpression: the script has more than/,
      ],
      [{ webhookUrl: 'ftp://x' }, /^webhookUrl: /],
      [{ webhookUrl: 'https://ada:pass@example.org' }, /^webhookUrl: must not contain a user name/],
      [{ emailRecipients: ['nobody'] }, /emailRecipients/],
      [{ emailRecipients: ['a@b.org\r\nBcc: c@d.org'] }, /emailRecipients/],
      [{ alertType: 'a b' }, /alertType/],
      [{ severityLevel: 'GREAT' }, /severityLevel/],
      [{ appName: undefined }, /^appName: expected exactly one/],
      [{ appName: 'nothing' }, /^appName: there is no application nothing/],
    ]
    for (const [wrong, message] of cases) {
      const { body } = await expectStatus(400, `POST ${rulesRoot}/alert-settings`, { ...fields, ...wrong })
      assert.match(body.message, message)
    }
  })
})

test('when a tenant is deleted, all its definitions are deleted', async () => {
  for (const [path, body] of [
    ['/rules', { name: 'r', expression: 'return 1' }],
    ['/secrets', { name: 's', value: 'hidden' }],
    ['/snippets', { name: 's', code: 'v' }],
    ['/action-types/webhook/actions', { name: 'w', webhookUrl: 'https://example.org' }],
    ['/trigger-types/cron/triggers', { name: 'c', cronExpression: '* * * * *' }],
  ] as const)
    await make(path, body, other)
  await waypost.kit.db.tx((sql) => waypost.kit.bus.publish(sql, TenantDeleted, { tenantId: 'other' }))
  await eventually(
    async () => {
      const [row] = await sql`
        select (select count(*) from rules.rules where tenant_id = 'other')
          + (select count(*) from rules.actions where tenant_id = 'other')
          + (select count(*) from rules.triggers where tenant_id = 'other')
          + (select count(*) from rules.secrets where tenant_id = 'other')
          + (select count(*) from rules.snippets where tenant_id = 'other')
          + (select count(*) from rules.revisions where tenant_id = 'other') as count`
      assert.equal(row?.count, 0)
    },
    { withinMs: 15_000 },
  )
  assert.equal((await loadDefinitions(sql, 'other')).rules.length, 0)
  assert.equal(await loadChanges(sql, 'other', 5), undefined)
})
