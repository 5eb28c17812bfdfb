import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aDeviceEndpoint, refused } from '../../../test/harness/device-messages.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { observationOf, openExtensions } from '../../../test/harness/extensions.ts'
import { root } from '../../../test/harness/register.ts'
import { newId } from '../../kernel/ids.ts'
import { TenantDeleted } from '../../services/tenants/events.ts'
import { everything } from './observation.ts'

const { house, gateway, admin, anApplication, anEndpoint } = await openExtensions()
const { sql } = house.kit.db
const observation = observationOf(house)
const rows = async (endpointId: string) =>
  (await sql`select name, observed from gateway.observations where endpoint_id = ${endpointId} order by name`).map(
    (row) => ({ ...row }),
  )

suite('what a device does not want to be pushed', () => {
  test('is kept, and nothing is written for what is so anyway', async () => {
    const endpoint = aDeviceEndpoint({ endpointId: newId() })
    await observation.set(endpoint, 'cmx', 'default', true)
    await observation.set(endpoint, 'cex', everything, true)
    assert.deepEqual(await rows(endpoint.endpointId), [])
    await observation.set(endpoint, 'cmx', 'default', false)
    assert.deepEqual(await rows(endpoint.endpointId), [{ name: 'default', observed: false }])
    assert.equal((await observation.of(endpoint.endpointId, 'cmx'))('default'), false)
    assert.equal((await observation.of(endpoint.endpointId, 'cmx'))('other'), true)
    assert.equal((await observation.of(newId(), 'cmx'))('default'), true)
  })

  test('is what the device said last, of a name or of all', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('a', 'b', everything), fc.boolean()), { maxLength: 8 }),
        async (words) => {
          const endpoint = aDeviceEndpoint({ endpointId: newId() })
          const expected = new Map([
            ['a', true],
            ['b', true],
            ['c', true],
          ])
          for (const [name, observed] of words) {
            await observation.set(endpoint, 'cex', name, observed)
            for (const one of name === everything ? [...expected.keys()] : [name]) expected.set(one, observed)
          }
          const wants = await observation.of(endpoint.endpointId, 'cex')
          for (const [name, observed] of expected) assert.equal(wants(name), observed)
        },
      ),
      { numRuns: 40 },
    ))

  test('is not more than some hundred names', async () => {
    const endpoint = aDeviceEndpoint({ endpointId: newId() })
    for (let n = 0; n < 200; n++) await observation.set(endpoint, 'cex', `t${n}`, false)
    const error = await refused(observation.set(endpoint, 'cex', 'more', false), 400)
    assert.match(error.message, /at most 200/)
    await observation.set(endpoint, 'cex', 't5', true)
    await observation.set(endpoint, 'cmx', 'more', false)
    await observation.set(endpoint, 'cex', everything, false)
    assert.equal((await rows(endpoint.endpointId)).length, 2)
  })

  test('says nothing about other extensions and other words', async () => {
    const endpoint = aDeviceEndpoint({ endpointId: newId() })
    await observation.set(endpoint, 'cex', everything, false)
    const wants = (extension: string, resourcePath: string) =>
      gateway.wants(endpoint.endpointId, { extension, resourcePath, payload: {} })
    assert.equal(await wants('cex', '/command/reboot'), false)
    assert.equal(await wants('cex', '/other'), true)
    assert.equal(await wants('cmx', '/other'), true)
    assert.equal(await wants('bcx', '/token'), true)
  })

  test('goes with the endpoint and with the tenant', async () => {
    const { version } = await anApplication()
    const endpointId = await anEndpoint(version)
    await observation.set(aDeviceEndpoint({ endpointId }), 'cmx', 'default', false)
    await admin(`DELETE ${root}/endpoints/${endpointId}`)
    await eventually(async () => assert.deepEqual(await rows(endpointId), []))

    const doomed = aDeviceEndpoint({ endpointId: newId(), tenantId: 'doomed' })
    const other = aDeviceEndpoint({ endpointId: newId(), tenantId: 'other' })
    for (const endpoint of [doomed, other]) await observation.set(endpoint, 'cmx', 'default', false)
    await house.kit.db.tx((tx) => house.kit.bus.publish(tx, TenantDeleted, { tenantId: 'doomed' }))
    await eventually(async () => assert.deepEqual(await rows(doomed.endpointId), []))
    assert.equal((await rows(other.endpointId)).length, 1)
  })
})

test('one service stands behind an extension, and a second is a mistake', () => {
  gateway.attach({ bcx: { issue: async () => 'a' } })
  assert.throws(() => gateway.attach({ bcx: { issue: async () => 'b' } }), /behind bcx already/)
})
