/** Tests two nodes: the caller and the device may use different nodes, and the result may arrive at either node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { monotonicMs } from '../../kernel/clock.ts'
import commandService from './index.ts'

const options = {
  connection: await freshDatabase(),
  environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) },
  services: [...services, commandService],
}
const one = await openGateway(options)
const two = await openGateway(options)

async function aTestEndpoint() {
  const { version, endpointId, token } = await one.aProvisionedEndpoint()
  const waitUntilBoundTo = (node: typeof one) =>
    eventually(async () => {
      const [row] = await one.waypost.kit.db.sql`select node_id from gateway.bindings where endpoint_id = ${endpointId}`
      assert.equal(row?.nodeId, node.waypost.kit.members.nodeId)
    })
  return {
    endpointId,
    topic: `kp1/${version}/cex/${token}`,
    path: `/cex/api/v1/endpoints/${endpointId}/commands`,
    boundTo: waitUntilBoundTo,
  }
}

test('a command that a caller invokes at one node is pushed by the other node, and its result ends the wait of the caller', async () => {
  const { topic, path, boundTo } = await aTestEndpoint()
  const sensor = await two.device()
  await sensor.publish(`${topic}/result/none`, [])
  await boundTo(two)
  for (const ttl of [60_000, 0]) {
    const began = monotonicMs()
    const waiting = one.admin(`POST ${path}/blink?awaitTimeout=20&commandTtl=${ttl}`, { n: ttl })
    const [command] = (await sensor.receives(`${topic}/command/blink/status`)).json
    assert.deepEqual(command.payload, { n: ttl })
    await sensor.publish(`${topic}/result/blink`, [{ id: command.id, statusCode: 200, payload: 'done' }])
    const answer = await waiting
    assert.deepEqual([answer.status, answer.body], [200, 'done'])
    assert.ok(monotonicMs() - began < 10_000)
  }
  await sensor.receivesNothing(100)
  await sensor.end()
})

test('a device that moves between nodes gets each outstanding command once on each connection', async () => {
  const { topic, path, boundTo } = await aTestEndpoint()
  const ids = ({ json }: { json: { id: number }[] }) => json.map(({ id }) => id)
  const at = `${topic}/command/move/status`
  const first = await one.device()
  await first.publish(`${topic}/result/none`, [])
  await boundTo(one)
  await two.admin(`POST ${path}/move?awaitTimeout=0`)
  assert.deepEqual(ids(await first.receives(at)), [1])
  const second = await two.device()
  await second.publish(`${topic}/result/none`, [])
  assert.deepEqual(ids(await second.receives(at)), [1])
  await boundTo(two)
  await one.admin(`POST ${path}/move?awaitTimeout=0`)
  assert.deepEqual(ids(await second.receives(at)), [2])
  await second.receivesNothing(150)
  await first.receivesNothing(1)
  await first.end()
  await second.end()
})

test('when a command is deleted at another node, the wait of its caller ends with 404', async () => {
  const { path } = await aTestEndpoint()
  const waiting = one.admin(`POST ${path}/blink?awaitTimeout=20`)
  await eventually(async () => assert.equal((await two.admin(`DELETE ${path}/blink/1`)).status, 204))
  assert.equal((await waiting).status, 404)
})

test('a device gets every command that is invoked while the device connects', async () => {
  const { topic, path } = await aTestEndpoint()
  const count = 30
  const seen = new Set<number>()
  const invoking = (async () => {
    for (let n = 0; n < count; n++) await one.admin(`POST ${path}/race?awaitTimeout=0`)
  })()
  const sensor = await two.device()
  await sensor.publish(`${topic}/result/none`, [])
  await invoking
  await eventually(() => {
    for (const { json } of sensor.received.splice(0)) {
      for (const { id } of json) {
        assert.ok(!seen.has(id), `${id} was pushed twice`)
        seen.add(id)
      }
    }
    assert.equal(seen.size, count)
  })
  await sensor.end()
})

test('an endpoint that is unregistered at one node gets no command at either node', async () => {
  const { endpointId, path } = await aTestEndpoint()
  const invokeAt = async ({ admin }: typeof one) => (await admin(`POST ${path}/blink?awaitTimeout=0`)).status
  assert.deepEqual([await invokeAt(one), await invokeAt(two)], [202, 202])
  assert.equal((await one.admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)).status, 204)
  assert.equal(await invokeAt(one), 404)
  await eventually(async () => assert.equal(await invokeAt(two), 404), { withinMs: 1000 })
})
