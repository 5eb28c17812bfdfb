import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aDeviceEndpoint, rejectsWith } from '../../test/harness/device-messages.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { newId } from '../kernel/ids.ts'
import { TenantDeleted } from '../services/tenants/events.ts'
import { everyName } from './contract.ts'
import { createObservation } from './observation.ts'

const { waypost, gateway, admin, aProvisionedEndpoint, device, test: extension } = await openGateway()
const { sql } = waypost.kit.db
const observation = createObservation({
  ...waypost.kit,
  jobs: { ...waypost.kit.jobs, handle: () => {} },
  bus: { ...waypost.kit.bus, handle: () => {} },
  signals: { ...waypost.kit.signals, onReset: () => {} },
})
const rows = async (endpointId: string) =>
  (await sql`select name, observed from gateway.observations where endpoint_id = ${endpointId} order by name`).map(
    (row) => ({ ...row }),
  )

suite('pushes that a device has stopped', () => {
  test('a request to stop the pushes of a name is stored; a request that changes nothing is not stored', async () => {
    const endpoint = aDeviceEndpoint({ endpointId: newId() })
    await observation.set(endpoint, 'one', 'default', true)
    await observation.set(endpoint, 'two', everyName, true)
    assert.deepEqual(await rows(endpoint.endpointId), [])
    await observation.set(endpoint, 'one', 'default', false)
    assert.deepEqual(await rows(endpoint.endpointId), [{ name: 'default', observed: false }])
    assert.equal((await observation.observes(endpoint.endpointId, 'one'))('default'), false)
    assert.equal((await observation.observes(endpoint.endpointId, 'one'))('other'), true)
    assert.equal((await observation.observes(newId(), 'one'))('default'), true)
  })

  test('the last request about a push, or about all pushes, decides whether the push is stopped', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', everyName), fc.boolean()), { maxLength: 8 }),
        async (changes) => {
          const endpoint = aDeviceEndpoint({ endpointId: newId() })
          const expected = new Map([
            ['a', true],
            ['b', true],
            ['c', true],
          ])
          for (const [name, observed] of changes) {
            await observation.set(endpoint, 'two', name, observed)
            for (const one of name === everyName ? [...expected.keys()] : [name]) expected.set(one, observed)
          }
          const wants = await observation.observes(endpoint.endpointId, 'two')
          for (const [name, observed] of expected) assert.equal(wants(name), observed)
        },
      ),
      { numRuns: 40 },
    ))

  test('a request to stop or restart a push takes effect immediately, even if the node has cached the previous value', async () => {
    const endpoint = aDeviceEndpoint({ endpointId: newId() })
    const { endpointId } = endpoint
    for (const observed of [true, false, true]) {
      await gateway.observe(endpoint, 'test', 'default', observed)
      assert.equal((await observation.observes(endpointId, 'test'))('default'), observed)
      assert.equal((await observation.observes(endpointId, 'other'))('default'), true)
    }
  })

  test('a device can stop pushes of at most 200 names', async () => {
    const endpoint = aDeviceEndpoint({ endpointId: newId() })
    for (let n = 0; n < 200; n++) await observation.set(endpoint, 'two', `t${n}`, false)
    const error = await rejectsWith(observation.set(endpoint, 'two', 'more', false), 400)
    assert.match(error.message, /at most 200/)
    await observation.set(endpoint, 'two', 't5', true)
    await observation.set(endpoint, 'one', 'more', false)
    await observation.set(endpoint, 'two', everyName, false)
    assert.equal((await rows(endpoint.endpointId)).length, 2)
  })

  test('pushes that a device has stopped are not sent, neither immediately nor on connect; other pushes are sent', async () => {
    const { prefix, endpointId } = await aProvisionedEndpoint()
    const named = (name?: string) => ({
      extension: 'test',
      resourcePath: `/news/${name}`,
      payload: name,
      ...(name !== undefined && { name }),
    })
    const names = ['a', 'b', undefined]
    await gateway.observe(aDeviceEndpoint({ endpointId }), 'test', 'a', false)
    await gateway.observe(aDeviceEndpoint({ endpointId }), 'other', everyName, false)
    extension.pushes = names.map(named)
    const sensor = await device()
    await sensor.publish(`${prefix}/json`, '1')
    for (const name of ['b', undefined]) await sensor.receives(`${prefix}/news/${name}/status`)
    extension.pushes = []
    const outcomes = await Promise.all(names.map((name) => gateway.send(endpointId, named(name))))
    assert.deepEqual(outcomes, ['offline', 'delivered', 'delivered'])
    for (const name of ['b', undefined]) await sensor.receives(`${prefix}/news/${name}/status`)
    await gateway.observe(aDeviceEndpoint({ endpointId }), 'test', everyName, true)
    assert.equal(await gateway.send(endpointId, named('a')), 'delivered')
    await sensor.receives(`${prefix}/news/a/status`)
    await sensor.receivesNothing(20)
  })

  test('the names of stopped pushes are deleted with the endpoint and with the tenant', async () => {
    const { endpointId } = await aProvisionedEndpoint()
    await observation.set(aDeviceEndpoint({ endpointId }), 'one', 'default', false)
    await admin(`DELETE /epr/api/v1/endpoints/${endpointId}`)
    await eventually(async () => assert.deepEqual(await rows(endpointId), []))

    const doomed = aDeviceEndpoint({ endpointId: newId(), tenantId: 'doomed' })
    const other = aDeviceEndpoint({ endpointId: newId(), tenantId: 'other' })
    for (const endpoint of [doomed, other]) await observation.set(endpoint, 'one', 'default', false)
    await waypost.kit.db.tx((tx) => waypost.kit.bus.publish(tx, TenantDeleted, { tenantId: 'doomed' }))
    await eventually(async () => assert.deepEqual(await rows(doomed.endpointId), []))
    assert.equal((await rows(other.endpointId)).length, 1)
  })
})
