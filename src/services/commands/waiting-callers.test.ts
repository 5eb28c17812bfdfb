/** Tests callers whose permission is revoked while they wait for a result. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openGateway, services } from '../../../test/harness/gateway.ts'
import { AccessChanged } from '../../identity/events.ts'
import { monotonicMs } from '../../kernel/clock.ts'
import type { Caller } from '../../kernel/contract.ts'
import commandService from './index.ts'

const { waypost, admin, device, aProvisionedEndpoint } = await openGateway({ services: [...services, commandService] })
const { db, bus } = waypost.kit

async function aWaitingCaller() {
  const { version, endpointId, token } = await aProvisionedEndpoint()
  const path = `/cex/api/v1/endpoints/${endpointId}/commands/reboot`
  const topic = `kp1/${version}/cex/${token}`
  const caller = aCaller({ on: { [`endpoint-${endpointId}`]: ['endpoint:update'] } })
  const ask = waypost.as(caller)
  const began = monotonicMs()
  const waiting = ask(`POST ${path}?awaitTimeout=30`)
  await eventually(async () => assert.equal((await admin(`GET ${path}/1`)).status, 200))
  const missing = ask(`POST ${path.replace(endpointId, 'none')}?awaitTimeout=0`)
  return { endpointId, topic, path, caller, waiting, began, missing }
}

const revoke = (caller: Caller) => Object.assign(caller, { permissions: [] })
const publishChange = ({ tenantId }: Caller) => db.tx((sql) => bus.publish(sql, AccessChanged, { tenantId }))

test('when the permission of a waiting caller is revoked, the caller gets 404 as for a missing endpoint, and the command still exists', async () => {
  const { endpointId, path, caller, waiting, began, missing } = await aWaitingCaller()
  revoke(caller)
  await publishChange(caller)
  const answer = await waiting
  assert.ok(monotonicMs() - began < 15_000)
  assert.equal(answer.status, 404)
  assert.equal(answer.text.replaceAll(endpointId, 'none'), (await missing).text)
  assert.equal((await admin(`GET ${path}/1`)).body.status, 'PENDING')
})

test('a change of permissions that does not affect the endpoint does not end the wait', async () => {
  const { topic, caller, waiting } = await aWaitingCaller()
  await publishChange(caller)
  const sensor = await device()
  await sensor.publish(`${topic}/result/reboot`, [{ id: 1, statusCode: 200, payload: 'done' }])
  const { status, body } = await waiting
  assert.deepEqual([status, body], [200, 'done'])
})

test('a caller gets no result if its permission was revoked, even if this node got no event of the revocation', async () => {
  const { topic, path, caller, waiting } = await aWaitingCaller()
  revoke(caller)
  const sensor = await device()
  await sensor.publish(`${topic}/result/reboot`, [{ id: 1, statusCode: 200, payload: 'secret' }])
  const { status, text } = await waiting
  assert.equal(status, 404)
  assert.ok(!text.includes('secret'))
  assert.equal((await admin(`GET ${path}/1`)).body.status, 'EXECUTED')
})
