/** Tests that any node can write a configuration, and that the node with the connection pushes it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ecr, openConfiguration } from '../../../test/harness/configuration.ts'
import { freshDatabase } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'

const options = { connection: await freshDatabase(), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const one = await openConfiguration(options)
const two = await openConfiguration(options)
const status = '/config/json/status'

/** Waits until the binding of the endpoint names this node, so that other nodes can find the connection. */
const boundAt = (endpointId: string, node: typeof one) =>
  eventually(async () => {
    const [row] = await one.waypost.kit.db.sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
    assert.equal(row?.nodeId, node.waypost.kit.members.nodeId)
  })

test('a device gets pushes of configurations that another node has written: for the endpoint, for a batch and for the default', async () => {
  const { endpointId, version, topic, connect, path, defaults } = await one.aTestEndpoint()
  const sensor = await one.device()
  await connect(sensor)
  await boundAt(endpointId, one)
  const pushed = async () => (await sensor.receives(topic(status))).json.config
  await two.ok(`PUT ${defaults}`, { n: 1 })
  assert.deepEqual(await pushed(), { n: 1 })
  await two.ok(`PUT ${path}`, { n: 2 })
  assert.deepEqual(await pushed(), { n: 2 })
  const batch = { configPayload: { n: 3 }, endpoints: { [version]: [endpointId] } }
  const { configId } = await two.ok(`PUT ${ecr}/endpoints/batch`, batch)
  assert.deepEqual(await pushed(), { n: 3 })
  await two.eventuallyStatuses(`configId=${configId}`, ['DISPATCHED'])
  await sensor.publish(topic('/applied/json'), { configId })
  await two.eventuallyStatuses(`configId=${configId}`, ['APPLIED'])
  assert.equal((await two.admin(`DELETE ${path}`)).status, 204)
  assert.deepEqual(await pushed(), { n: 1 })
  await sensor.receivesNothing()
  await sensor.end()
})

test('a device that moves between nodes gets every change, whichever node writes', async () => {
  const endpoint = await one.aTestEndpoint()
  const { endpointId, topic, connect, path } = endpoint
  for (let round = 0; round < 4; round++) {
    const [here, writer] = round % 2 === 0 ? [one, two] : [two, one]
    const sensor = await here.device()
    await connect(sensor)
    await boundAt(endpointId, here)
    await new Promise((resolve) => setTimeout(resolve, 50))
    sensor.received.length = 0
    const { configId } = await writer.ok(`PUT ${path}`, { round })
    assert.equal((await sensor.receives(topic(status))).json.configId, configId)
    await sensor.publish(topic('/applied/json/1'), { configId })
    await sensor.receives(topic('/applied/json/1/status'))
    await sensor.end()
  }
})

test('a configuration that is written while the device connects arrives soon after the connect', async () => {
  for (let round = 0; round < 5; round++) {
    const { topic, connect, path } = await one.aTestEndpoint()
    const sensor = await one.device()
    const [{ configId }] = await Promise.all([two.ok(`PUT ${path}`, { round }), connect(sensor)])
    await eventually(
      () =>
        assert.ok(
          sensor.received.some((message) => message.topic === topic(status) && message.json.configId === configId),
        ),
      { withinMs: 15_000 },
    )
    await sensor.end()
  }
})
