/** Tests rollouts with two nodes: any node accepts a change, and the node with the connection pushes the version. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openSoftware, softwareServices } from '../../../test/harness/software.ts'
import { migratedDatabase } from '../../../test/harness/test-platform.ts'

const environment = { WAYPOST_MASTER_KEY: 'k'.repeat(40), WAYPOST_DATA: temporaryDirectory() }
const options = { connection: await migratedDatabase(softwareServices), environment }
const one = await openSoftware(options)
const two = await openSoftware(options)

test('a change, a matching filter, a date and a pause on one node take effect for a device on the other node', async () => {
  const { anEndpoint, release, put, post, aFilter, read } = await one.aFleet()
  await release('1.0.0')
  const { topic, endpointId } = await anEndpoint()
  const sensor = await two.device()
  const report = async (configId: string) => {
    await sensor.publish(`${topic}/applied/json/1`, { configId })
    await sensor.receives(`${topic}/applied/json/1/status`)
  }
  const pushed = async () => (await sensor.receives(`${topic}/config/json/status`)).json.configId
  await report('1.0.0')
  await release('2.0.0', { upgradableFrom: ['1.0.0'] })
  assert.equal(await pushed(), '2.0.0')
  await report('2.0.0')

  const filterId = await aFilter({ 'metadata.group': 'canary' })
  const targeted = { rolloutStrategy: 'targeted', upgradableFrom: ['2.0.0'], filters: [{ filterId }] }
  await release('3.0.0', targeted)
  await sensor.receivesNothing()
  const changed = await one.admin(`PUT /epr/api/v1/endpoints/${endpointId}/metadata`, { group: 'canary' })
  assert.ok(changed.status < 300, changed.text)
  assert.equal(await pushed(), '3.0.0')
  await report('3.0.0')

  await release('4.0.0', { rolloutStrategy: 'suspended', upgradableFrom: ['3.0.0'] })
  await post('/4.0.0/pause')
  await put('4.0.0', { upgradableFrom: ['3.0.0'] })
  assert.equal(await two.requestVersion(topic), undefined)
  await post('/4.0.0/resume')
  assert.equal(await pushed(), '4.0.0')
  await report('4.0.0')

  const due = Math.ceil(Date.now() / 1000 + 1) * 1000
  const rolloutDate = `${new Date(due).toISOString().slice(0, 19)}Z`
  await release('5.0.0', { ...targeted, upgradableFrom: ['4.0.0'], filters: [{ filterId, rolloutDate }] })
  assert.equal((await sensor.receives(`${topic}/config/json/status`, 15_000)).json.configId, '5.0.0')
  assert.ok(Date.now() >= due)
  await eventually(async () => assert.equal((await read(`/endpoints/${endpointId}`)).state, 'offered'))

  const moved = await one.device()
  await moved.publish(`${topic}/config/json/9`, { configId: '5.0.0' })
  assert.deepEqual((await moved.receives(`${topic}/config/json/9/status`)).json, {})
  await moved.publish(`${topic}/applied/json/2`, { configId: '5.0.0' })
  await moved.receives(`${topic}/applied/json/2/status`)
  await eventually(async () => assert.equal((await read('/5.0.0/rollout')).counts.applied, 1))
})
