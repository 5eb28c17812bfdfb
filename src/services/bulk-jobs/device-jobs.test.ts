import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { asPushed, openConfiguration } from '../../../test/harness/configuration.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { services } from '../../../test/harness/gateway.ts'
import { jobsServices } from '../../../test/harness/jobs.ts'

const opened = await openConfiguration({ services: [...new Set([...services, ...jobsServices])] })
const { admin, other, aTestEndpoint, device, waypost, anApplication, anEndpoint } = opened
const root = '/jobs/api/v1/jobs'

async function ended(answer: Awaited<ReturnType<typeof admin>>) {
  assert.equal(answer.status, 201, answer.text)
  const { jobId } = answer.body
  return await eventually(async () => {
    const { body } = await admin(`GET ${root}/${jobId}`)
    assert.ok(body.finishedDate)
    return { ...body, items: (await admin(`GET ${root}/${jobId}/items`)).body.content }
  })
}

test('a job sends a command to each endpoint, and connected devices get the command immediately', async () => {
  const [reachable, offline] = [await aTestEndpoint(), await aTestEndpoint()]
  const connected = await device()
  await reachable.connect(connected)
  const select = { endpointIds: [reachable.endpointId, 'unknown', offline.endpointId] }
  const job = await ended(
    await admin(`POST ${root}/commands`, {
      select,
      commandType: 'reboot',
      payload: { delay: 5 },
      commandTtl: 3_600_000,
    }),
  )
  assert.deepEqual([job.kind, job.counts], ['commands.send', { total: 3, succeeded: 2, failed: 1, pending: 0 }])
  assert.deepEqual(job.parameters, { commandType: 'reboot', commandTtl: 3_600_000 })
  const byId = new Map(job.items.map((item: { endpointId: string }) => [item.endpointId, item]))
  for (const { endpointId } of [reachable, offline]) {
    const { commandId } = byId.get(endpointId) as { commandId: number }
    const { body } = await admin(`GET /cex/api/v1/endpoints/${endpointId}/commands/reboot/${commandId}`)
    assert.deepEqual([body.status, body.requestPayload], ['PENDING', { delay: 5 }])
  }
  assert.match((byId.get('unknown') as { reason: string }).reason, /There is no endpoint unknown/)
  const push = await connected.receives(`kp1/${reachable.version}/cex/${reachable.token}/command/reboot/status`)
  assert.deepEqual(push.json, [{ id: 1, payload: { delay: 5 } }])
})

test('a job sets a configuration for each endpoint whose version has a schema that permits it, and pushes the configuration', async () => {
  const { app, version } = await anApplication(['v1', 'v2'])
  const strict = `${app}-v2`
  const schema = { type: 'object', properties: { interval: { type: 'integer' } } }
  const config = { endpointConfigurationSchema: JSON.stringify(schema) }
  const set = await admin(`PUT /api/v1/app-configs/applications/${app}/app-versions/${strict}`, {
    ecr: { platform: { applications: { [app]: { versions: { [strict]: config } } } } },
  })
  assert.equal(set.status, 204, set.text)
  const [one, two] = [await anEndpoint(version), await anEndpoint(strict)]
  const connected = await device()
  await opened.testEndpoint({ app, version, ...one }).connect(connected)
  const body = { select: { applicationName: app }, name: 'net', config: { interval: 'often' } }
  const job = await ended(await admin(`POST ${root}/configurations`, body))
  assert.deepEqual([job.counts, job.applicationName], [{ total: 2, succeeded: 1, failed: 1, pending: 0 }, app])
  assert.deepEqual(
    job.items.map((item: { endpointId: string; state: string }) => [item.endpointId, item.state]),
    [
      [one.endpointId, 'succeeded'],
      [two.endpointId, 'failed'],
    ],
  )
  assert.match(job.items[1].reason, /interval/)
  const path = `/ecr/api/v1/endpoints/${one.endpointId}/app-versions/${version}?name=net`
  const stored = (await admin(`GET ${path}`)).body
  assert.deepEqual([stored.configId, stored.config], [job.parameters.configId, '{"interval":"often"}'])
  const push = await connected.receives(`kp1/${version}/cmx/${one.token}/config/json/net/status`)
  assert.deepEqual(push.json, asPushed(stored))
  // A second job with the same configuration does not change the stored configuration.
  await ended(await admin(`POST ${root}/configurations`, { ...body, select: { endpointIds: [one.endpointId] } }))
  assert.equal((await admin(`GET ${path}`)).body.configId, stored.configId)
})

test('a job with bad input or without permission is rejected', async () => {
  const { endpointId } = await aTestEndpoint()
  const select = { endpointIds: [endpointId] }
  for (const [kind, body, status] of [
    ['commands', { select }, 400],
    ['commands', { select, commandType: 'a/b' }, 400],
    ['commands', { select, commandType: 'a', commandTtl: -1 }, 400],
    ['commands', { select, commandType: 'a', payload: 'x'.repeat(16_385) }, 413],
    ['configurations', { select }, 400],
    ['configurations', { select, config: {}, name: 'a b' }, 400],
    ['configurations', { select, config: 'x'.repeat(1_000_001) }, 413],
  ] as const) {
    const answer = await admin(`POST ${root}/${kind}`, body)
    assert.equal(answer.status, status, `${kind} ${JSON.stringify(body).slice(0, 100)}: ${answer.text}`)
  }
  const reader = waypost.as(aCaller({ on: { 'tenant-system': ['endpoint:read'] } }))
  for (const [kind, body] of [
    ['commands', { select, commandType: 'a' }],
    ['configurations', { select, config: {} }],
  ] as const) {
    assert.equal((await reader(`POST ${root}/${kind}`, body)).status, 403)
    assert.equal((await other(`POST ${root}/${kind}`, body)).status, 404)
  }
})
