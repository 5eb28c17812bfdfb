/** Tests the whole path of a sample from a hot room: MQTT → rule → alert → e-mail and webhook, with two nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Ask } from '../harness/client.ts'
import { aDevice } from '../harness/device.ts'
import { eventually } from '../harness/eventually.ts'
import { aMailServer } from '../harness/mail-server.ts'
import { nodeDirectories, startPlatform, usedDatabase } from '../harness/platform.ts'
import { aReceiver } from '../harness/webhook-receiver.ts'

const root = '/re/api/v1'

type ExpectStatus = (status: number, operation: string, body?: unknown, ask?: Ask) => Promise<Awaited<ReturnType<Ask>>>

/**
 * Creates the endpoint and both rules, and links them to triggers and actions through another node. Returns the id of the webhook action.
 */
async function prepare(expectStatus: ExpectStatus, linkingAsk: Ask, url: string): Promise<string> {
  const make = async (path: string, body: unknown) =>
    (await expectStatus(201, `POST ${root}${path}`, body)).headers.get('location')!.split('/').at(-1)!
  const link = (ruleId: string, path: string, body: unknown) =>
    expectStatus(204, `PUT ${root}/rules/${ruleId}/${path}`, body, linkingAsk)
  await expectStatus(201, 'POST /api/v1/applications', { name: 'house' })
  await expectStatus(201, 'POST /api/v1/applications/house/app-versions', { nameSuffix: 'v1' })
  await expectStatus(201, 'POST /epr/api/v1/endpoints', {
    appVersion: { name: 'house-v1' },
    endpointId: 'room-1',
    endpointToken: 'room-1-token',
    metadata: { floor: 2 },
  })

  // Hysteresis: above 30 degrees the alert opens; below 25 degrees it is resolved; between them it does not change.
  const sample = 'ctx.trigger.endpointDataSamplesReceived.dataSamples[0].temperature'
  const expression = `const t = ${sample}; return t > 30 ? true : t < 25 ? false : null`
  const rule = await make('/rules', { name: 'too hot', expression })
  const open = await make('/action-types/alert-activation/actions', {
    name: 'open',
    alertType: 'HOT',
    severityLevelExpression: `return ${sample} > 40 ? 'CRITICAL' : 'HIGH'`,
    messageExpression: `return ${sample} + ' degrees'`,
  })
  const close = await make('/action-types/alert-resolution/actions', { name: 'close', alertType: 'HOT' })
  const samples = await make('/trigger-types/endpoint-data-samples-received/triggers', {
    name: 'samples',
    appVersionName: 'house-v1',
  })
  await link(rule, 'action-types/alert-activation/actions', { positiveActionIds: [open] })
  await link(rule, 'action-types/alert-resolution/actions', { negativeActionIds: [close] })
  await link(rule, 'trigger-types/endpoint-data-samples-received/triggers', [samples])

  // A second rule sends an e-mail and a webhook for each change of an alert.
  const event = 'ctx.trigger.alertLifecycleEvent'
  const report = await make('/rules', { name: 'report', expression: 'return true' })
  const email = await make('/action-types/send-email/actions', {
    name: 'mail',
    recipientsExpression: 'caretaker@example.org',
    subjectExpression: `return ${event}.eventType + ': ' + ${event}.alert.message`,
    textExpression: `return 'Floor ' + ctx.endpoint.getMetadata().floor`,
  })
  const hook = await make('/action-types/webhook/actions', {
    name: 'hook',
    webhookUrl: url,
    webhookPayloadExpression: `return { event: ${event}.eventType, severity: ${event}.alert.severityLevel }`,
  })
  const alertEvents = await make('/trigger-types/alert-lifecycle-event/triggers', {
    name: 'alerts',
    appName: 'house',
    alertTypes: ['HOT'],
    eventTypes: ['ACTIVATED', 'UPDATED', 'RESOLVED'],
  })
  await link(report, 'action-types/send-email/actions', { positiveActionIds: [email] })
  await link(report, 'action-types/webhook/actions', { positiveActionIds: [hook] })
  await link(report, 'trigger-types/alert-lifecycle-event/triggers', [alertEvents])
  return hook
}

test('a hot room opens an alert with an e-mail and a webhook, and the alert is resolved when the room is cool', async () => {
  const [mail, receiver] = [await aMailServer(), await aReceiver()]
  const environment = {
    ...(await usedDatabase()).environment,
    WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on',
    WAYPOST_SMTP_URL: mail.url,
    WAYPOST_LOG_LEVEL: 'error',
  }
  const [first, second] = nodeDirectories(2) as [string, string]
  const one = await startPlatform({ directory: first, environment })
  const two = await startPlatform({ directory: second, environment })
  const secrets = one.bootstrap.default
  const [askOne, askTwo] = [await one.asService(secrets), await two.asService(secrets)]
  const expectStatus: ExpectStatus = async (status, operation, body, ask = askOne) => {
    const answer = await ask(operation, body)
    assert.equal(answer.status, status, `${operation}: ${answer.text}`)
    return answer
  }
  const hook = await prepare(expectStatus, askTwo, receiver.url)

  // The samples alternate between the nodes.
  const devices = [await aDevice(one.mqttUrl), await aDevice(two.mqttUrl)]
  const send = async (temperature: number, n: number) => {
    const topic = `kp1/house-v1/dcx/room-1-token/json/${n}`
    const device = devices[n % 2]!
    await device.publish(topic, { temperature })
    await device.receives(`${topic}/status`)
  }
  const hooks = () => receiver.requests.map(({ body }) => Object.values(JSON.parse(body)).join(' '))
  const subjects = () => mail.mails.map(({ text }) => /^Subject: (.*?)\r?$/m.exec(text)![1])
  const steps: [temperature: number, hooks: string[], subjects: string[]][] = [
    [28, [], []],
    [31, ['ACTIVATED HIGH'], ['ACTIVATED: 31 degrees']],
    [31, ['ACTIVATED HIGH'], ['ACTIVATED: 31 degrees']],
    [41, ['ACTIVATED HIGH', 'UPDATED CRITICAL'], ['ACTIVATED: 31 degrees', 'UPDATED: 41 degrees']],
    [27, ['ACTIVATED HIGH', 'UPDATED CRITICAL'], ['ACTIVATED: 31 degrees', 'UPDATED: 41 degrees']],
    [
      20,
      ['ACTIVATED HIGH', 'UPDATED CRITICAL', 'RESOLVED CRITICAL'],
      ['ACTIVATED: 31 degrees', 'UPDATED: 41 degrees', 'RESOLVED: 41 degrees'],
    ],
  ]
  for (const [n, [temperature, expectedHooks, expectedSubjects]] of steps.entries()) {
    await send(temperature, n)
    await eventually(
      () => {
        assert.deepEqual(hooks(), expectedHooks)
        assert.deepEqual(subjects(), expectedSubjects)
      },
      { withinMs: 20_000 },
    )
  }
  assert.match(mail.mails[0]!.text, /Floor 2/)

  const { body } = await expectStatus(200, `GET ${root}/alerts?entityIds=room-1`, undefined, askTwo)
  assert.deepEqual(
    [body.totalElements, body.content[0].state, body.content[0].severityLevel, body.content[0].entityMetadata.floor],
    [1, 'RESOLVED', 'CRITICAL', 2],
  )
  // The runs that follow from one sample share one trace id. Here the sample is the last sample, which resolved the alert.
  await eventually(async () => {
    const { content } = (await expectStatus(200, `GET ${root}/traces?entityId=${hook}`)).body
    assert.equal(content.length, 3)
    const chain = (await expectStatus(200, `GET ${root}/traces?traceId=${content[0].traceId}`)).body.content
    assert.deepEqual(
      chain.map(({ entityType, outcome }: Record<string, string>) => `${entityType} ${outcome}`).sort(),
      [
        'ALERT_RESOLUTION_ACTION SUCCESS',
        'RULE SUCCESS',
        'RULE SUCCESS',
        'SEND_EMAIL_ACTION SUCCESS',
        'WEBHOOK_ACTION SUCCESS',
      ],
    )
  })
  for (const device of devices) await device.end()
  for (const node of [one, two]) assert.equal(await node.kill('SIGTERM'), 0)
})
