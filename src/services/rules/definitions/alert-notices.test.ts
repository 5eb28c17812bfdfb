/**
 * Tests the runs of an alert setting: samples open and resolve alerts, and each opening and each resolution sends one e-mail and one
 * webhook. The last test covers payload scripts of webhooks.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { aMailServer } from '../../../../test/harness/mail-server.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { aReceiver } from '../../../../test/harness/webhook-receiver.ts'

const mail = await aMailServer()
const receiver = await aReceiver()
const { expectStatus, make, get, aRule, anAction, aProvisionedEndpoint, httpUrl } = await openRules({
  environment: { WAYPOST_SMTP_URL: mail.url, WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on' },
})
type Endpoint = Awaited<ReturnType<typeof aProvisionedEndpoint>>

const send = async ({ version, token }: Endpoint, temperature: number) => {
  const url = `${httpUrl}/kp1/${version}/dcx/${token}/json`
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ temperature }) })
  assert.equal(answer.status, 200)
}
const sample = 'const [{ temperature }] = ctx.trigger.endpointDataSamplesReceived.dataSamples;'
const settingOf = ({ app }: Endpoint) => ({
  name: 'heat',
  alertType: 'HEAT',
  severityLevel: 'HIGH',
  appName: app,
  message: 'Too hot',
  activationExpression: `${sample} return temperature > 30`,
})
const alertsOf = async ({ endpointId }: Endpoint) => (await get(`/alerts?entityIds=${endpointId}`)).content
const stateOf = (endpoint: Endpoint, state: string) =>
  eventually(async () =>
    assert.deepEqual(
      (await alertsOf(endpoint)).map((alert: { state: string }) => alert.state),
      [state],
    ),
  )

suite('an alert setting', () => {
  test('an alert setting opens and resolves an alert, and sends one e-mail and one webhook for each change', async () => {
    const endpoint = await aProvisionedEndpoint()
    const id = await make('/alert-settings', {
      ...settingOf(endpoint),
      emailRecipients: ['ann@example.org', 'Bo <bo@example.org>'],
      webhookUrl: `${receiver.url}/alerts`,
    })
    for (const temperature of [20, 31, 35, 33]) await send(endpoint, temperature)
    await stateOf(endpoint, 'OPEN')
    const [alert] = await alertsOf(endpoint)
    assert.deepEqual([alert.alertSettingId, alert.severityLevel, alert.message], [id, 'HIGH', 'Too hot'])
    await eventually(() => assert.deepEqual([mail.mails.length, receiver.requests.length], [1, 1]), {
      withinMs: 15_000,
    })
    for (const temperature of [29, 20]) await send(endpoint, temperature)
    await stateOf(endpoint, 'RESOLVED')
    await eventually(() => assert.deepEqual([mail.mails.length, receiver.requests.length], [2, 2]), {
      withinMs: 15_000,
    })
    const [opened, resolved] = mail.mails
    assert.deepEqual(opened!.to, ['ann@example.org', 'bo@example.org'])
    assert.match(opened!.text, /^Subject: Alert: HEAT \(HIGH\)/m)
    assert.match(opened!.text, /Message: Too hot/)
    assert.match(resolved!.text, /^Subject: Resolved: HEAT \(HIGH\)/m)
    const notices = receiver.requests.map(({ body }) => JSON.parse(body))
    assert.deepEqual(
      notices.map(({ eventType, alert }) => [eventType, alert.id, alert.entityId]),
      ['ACTIVATED', 'RESOLVED'].map((eventType) => [eventType, alert.id, endpoint.endpointId]),
    )
    const { content } = await get('/traces?outcome=FAILURE&size=100')
    assert.deepEqual(content, [])
  })

  test('an alert setting with a resolution expression keeps the alert open between the limits of its two expressions', async () => {
    const endpoint = await aProvisionedEndpoint()
    await make('/alert-settings', {
      ...settingOf(endpoint),
      resolutionExpression: `${sample} return temperature < 25 // cool`,
    })
    await send(endpoint, 31)
    await stateOf(endpoint, 'OPEN')
    const [{ lastActiveAt }] = await alertsOf(endpoint)
    await send(endpoint, 27)
    await send(endpoint, 32)
    await eventually(async () => assert.notEqual((await alertsOf(endpoint))[0].lastActiveAt, lastActiveAt))
    await stateOf(endpoint, 'OPEN')
    await send(endpoint, 24)
    await stateOf(endpoint, 'RESOLVED')
  })

  test('a disabled alert setting does not resolve its alert, and the alert is kept when the alert setting is deleted', async () => {
    const endpoint = await aProvisionedEndpoint()
    const setting = settingOf(endpoint)
    const id = await make('/alert-settings', setting)
    await send(endpoint, 31)
    await stateOf(endpoint, 'OPEN')
    await expectStatus(204, `PUT ${rulesRoot}/alert-settings/${id}`, { ...setting, state: 'DISABLED' })
    await send(endpoint, 20)
    await expectStatus(204, `PUT ${rulesRoot}/alert-settings/${id}`, setting)
    await send(endpoint, 33)
    await eventually(async () => {
      const { content } = await get(`/traces?raisedOnEntityId=${endpoint.endpointId}&entityType=RULE`)
      assert.equal(content.length, 2)
    })
    await expectStatus(204, `DELETE ${rulesRoot}/alert-settings/${id}`)
    await stateOf(endpoint, 'OPEN')
  })
})

test('the payload script of a webhook sees the data of its rule but not the global variables of the rule, and may read the endpoint', async () => {
  const hooks = await aReceiver()
  const { endpointId } = await aProvisionedEndpoint()
  await expectStatus(204, `PUT /epr/api/v1/endpoints/${endpointId}/metadata`, { level: 3 })
  const ruleId = await aRule({
    expression: 'globalThis.left = 1; ctx.n = 9; ctx.data.seen = ctx.result; return ctx.result',
  })
  const aHook = (webhookPayloadExpression: string) =>
    anAction('webhook', { webhookUrl: hooks.url, webhookPayloadExpression })
  const plain = await aHook('return [ctx.data.seen, ctx.n, typeof left]')
  const reading = await aHook('return [ctx.data.seen, ctx.endpoint.getMetadata("level")]')
  const failing = await aHook('return ctx.missing.member')
  const attach = (positiveActionIds: string[]) =>
    expectStatus(204, `PUT ${rulesRoot}/rules/${ruleId}/action-types/webhook/actions`, { positiveActionIds })
  const execute = async (result: unknown) => {
    hooks.requests.length = 0
    const body = { result, n: 5, endpointId }
    const { traces } = (await expectStatus(200, `POST ${rulesRoot}/rules/${ruleId}/execute`, body)).body
    const outcomes = traces.map((trace: { outcome: string }) => trace.outcome).join(' ')
    return [outcomes, ...hooks.requests.map((request) => request.body).toSorted()]
  }
  const own = '[7,5,"undefined"]'
  await attach([plain, reading])
  assert.deepEqual(await execute(7), ['SUCCESS SUCCESS SUCCESS', '[7,3]', own])
  assert.deepEqual(await execute(false), ['SUCCESS'])
  assert.deepEqual(await execute(null), ['SUCCESS'])
  await attach([reading, plain])
  for (let round = 0; round < 2; round++) assert.deepEqual(await execute(7), ['SUCCESS SUCCESS SUCCESS', '[7,3]', own])
  await attach([failing, plain])
  assert.deepEqual(await execute(7), ['SUCCESS FAILURE SUCCESS', own])
})
