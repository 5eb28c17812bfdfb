import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aDevice } from '../../../test/harness/device.ts'
import { createFixtures } from '../../../test/harness/gateway.ts'
import { openInProcessPlatform } from '../../../test/harness/in-process-platform.ts'

const { ask, baseUrl, mqttUrl, waypost } = await openInProcessPlatform({
  WAYPOST_LOG_LEVEL: 'error',
  WAYPOST_TENANT_MB_PER_DAY: '1',
})
const { anApplication, anEndpoint } = createFixtures(ask)

test('when a device exceeds the quota of its tenant, its samples get 429, and its other messages are processed but not recorded', async () => {
  const { app, version } = await anApplication()
  const { endpointId, token } = await anEndpoint(version)
  const topic = `kp1/${version}/dcx/${token}/json`
  const payload = JSON.stringify({ text: 'x'.repeat(100_000) })
  const send = () => fetch(`${baseUrl}/${topic}`, { method: 'POST', body: payload })
  const statuses: number[] = []
  for (let sent = 0; sent < 40; sent++) statuses.push((await send()).status)
  const accepted = statuses.filter((status) => status === 200).length
  assert.ok(accepted >= 5 && accepted <= 12, `${accepted} messages of 100 kB were accepted`)
  assert.equal(statuses.at(-1), 429)
  const refused = await send()
  assert.match(((await refused.json()) as { reasonPhrase: string }).reasonPhrase, /quota of 1000000 bytes/)
  const seconds = Number(refused.headers.get('retry-after'))
  assert.ok(seconds > 0 && seconds <= 86_400, String(seconds))

  const device = await aDevice(mqttUrl, { protocolVersion: 5 })
  await assert.rejects(device.publish(topic, payload), (error: { code?: number }) => error.code === 0x97)
  const old = await aDevice(mqttUrl, { protocolVersion: 4 })
  await old.client.subscribeAsync(`kp1/${version}/dcx/${token}/#`)
  await old.publish(`${topic}/7`, payload)
  assert.equal((await old.receives(`${topic}/7/error`)).json.statusCode, 429)

  const metadata = `${baseUrl}/kp1/${version}/epmx/${token}/update/keys`
  assert.equal((await fetch(metadata, { method: 'POST', body: '{"a":1}' })).status, 200)
  const put = await ask(`PUT /epts/api/v1/app-versions/${version}/time-series/data`, {
    [endpointId]: { temperature: [{ timestamp: 0, values: { value: 1 } }] },
  })
  assert.equal(put.status, 429, put.text)
  assert.ok(Number(put.headers.get('retry-after')) > 0)

  const usage = await ask('GET /api/v1/audit/usage')
  assert.equal(usage.status, 200, usage.text)
  assert.equal(usage.body.bytesPerDay, 1_000_000)
  const [today] = usage.body.days
  assert.ok(today.sampleBytes >= accepted * 100_000 && today.refused >= 25 && today.unrecorded > 0, usage.text)
  assert.ok(today.sampleBytes + today.trafficLogBytes < 1_300_000, usage.text)
  assert.match(await waypost.kit.metrics.text(), /waypost_daily_quota_refused_total \d\d/)
  assert.equal((await ask(`GET /api/v1/applications/${app}`)).status, 200)
})

test('to read the usage of another tenant, a caller needs the scope on the platform', async () => {
  assert.equal((await ask('GET /api/v1/audit/usage?tenantId=platform')).status, 403)
  assert.equal((await ask('GET /api/v1/audit/usage?days=0')).status, 400)
})
