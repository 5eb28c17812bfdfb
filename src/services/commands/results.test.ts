/** Tests many results of one device, and the events of commands. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { CommandDispatched, CommandResultReceived } from './events.ts'
import commandService from './index.ts'

const { waypost, admin, device, aProvisionedEndpoint } = await openGateway({ services: [...services, commandService] })

async function aConnectedTestEndpoint() {
  const { app, version, endpointId, token } = await aProvisionedEndpoint()
  const topic = `kp1/${version}/cex/${token}`
  const sensor = await device()
  await sensor.publish(`${topic}/command/none/1`)
  await sensor.receives(`${topic}/command/none/1/status`)
  return { app, endpointId, topic, path: `/cex/api/v1/endpoints/${endpointId}/commands`, sensor }
}

const result = (id: number, statusCode: number) => [{ id, statusCode, payload: statusCode }]

test('results that arrive at the same time are stored in few transactions, and the first result of each command counts', async () => {
  const { topic, path, sensor, endpointId } = await aConnectedTestEndpoint()
  const count = 100
  const waiting = Array.from({ length: count }, () => admin(`POST ${path}/blink?awaitTimeout=30`))
  const { sql } = waypost.kit.db
  await eventually(async () => {
    const [row] = await sql`select count(*)::integer from commands.commands where endpoint_id = ${endpointId}`
    assert.equal(row?.count, count)
  })
  const ids = Array.from({ length: count }, (_, index) => index + 1)
  await Promise.all(
    ids.flatMap((id) => [
      // A result for another type is ignored, even if it arrives first.
      sensor.publish(`${topic}/result/other`, result(id, 404)),
      sensor.publish(`${topic}/result/blink`, result(id, 200)),
      sensor.publish(`${topic}/result/blink`, result(id, 500)),
    ]),
  )
  for (const { status, body } of await Promise.all(waiting)) assert.deepEqual([status, body], [200, 200])
  const stored = await sql`
    select distinct status_code, result from commands.commands where endpoint_id = ${endpointId}`
  assert.deepEqual([...stored], [{ statusCode: 200, result: '200' }])
  const [transactions] = await sql`
    select count(distinct xmin::text)::integer from commands.commands where endpoint_id = ${endpointId}`
  assert.ok(transactions!.count < count / 2, `${transactions!.count} transactions`)
})

test('each of several messages in a batch gets its own response', async () => {
  const { topic, path, sensor } = await aConnectedTestEndpoint()
  for (let n = 0; n < 2; n++) assert.equal((await admin(`POST ${path}/blink?awaitTimeout=0`)).status, 202)
  await Promise.all([
    sensor.publish(`${topic}/result/blink/1`, result(1, 200)),
    sensor.publish(`${topic}/result/blink/2`, result(2, 200)),
    sensor.publish(`${topic}/result/blink/3`, result(2, 200)),
    sensor.publish(`${topic}/result/other/4`, result(1, 200)),
  ])
  await sensor.receives(`${topic}/result/blink/1/status`)
  await sensor.receives(`${topic}/result/blink/2/status`)
  await sensor.receives(`${topic}/result/blink/3/error`)
  await sensor.receives(`${topic}/result/other/4/error`)
})

test('an event is published once for the first push of a command, and once for its result, each with the content', async () => {
  const dispatched: unknown[] = []
  const received: unknown[] = []
  waypost.kit.bus.subscribe(CommandDispatched, (payload) => void dispatched.push(payload))
  waypost.kit.bus.subscribe(CommandResultReceived, (payload) => void received.push(payload))
  const { app, endpointId, topic, path, sensor } = await aConnectedTestEndpoint()
  const ofCommand = { tenantId: 'default', applicationName: app, endpointId }
  await admin(`POST ${path}/blink?awaitTimeout=0`, { times: 3 })
  await admin(`POST ${path}/reboot?awaitTimeout=0`)
  const blink = { ...ofCommand, commandId: 1, commandType: 'blink', requestPayload: { times: 3 } }
  const reboot = { ...ofCommand, commandId: 2, commandType: 'reboot' }
  await eventually(() => assert.deepEqual(dispatched, [blink, reboot]))
  // A poll returns the commands again, but no event is published for this.
  await sensor.publish(`${topic}/command/7`)
  await sensor.receives(`${topic}/command/7/status`)
  const answer = { id: 1, statusCode: 503, reasonPhrase: 'no bulb', payload: [null] }
  await sensor.publish(`${topic}/result/blink`, [answer])
  await sensor.publish(`${topic}/result/blink`, [{ ...answer, statusCode: 200 }])
  await sensor.publish(`${topic}/result/reboot/8`, [{ id: 2, statusCode: 200 }])
  await sensor.receives(`${topic}/result/reboot/8/status`)
  assert.deepEqual(received, [
    { ...blink, statusCode: 503, reasonPhrase: 'no bulb', responsePayload: [null] },
    { ...reboot, statusCode: 200 },
  ])
  assert.deepEqual(dispatched, [blink, reboot])
})
