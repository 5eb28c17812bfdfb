import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generate } from 'mqtt-packet'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { connected } from '../../test/harness/mqtt-raw.ts'

const { waypost, mqttUrl, other, aProvisionedEndpoint } = await openGateway()
const port = Number(new URL(mqttUrl).port)
/** A PUBLISH with QoS 3, which does not exist. */
const malformedPublish = Buffer.from('3605000161006278', 'hex')

/** Opens an anonymous connection that represents these endpoints. */
async function connectionOf(clientId: string, endpoints: { prefix: string }[]) {
  const client = await connected(port, { clientId })
  for (const { prefix } of endpoints) {
    client.send({ cmd: 'publish', topic: `${prefix}/json/1`, payload: '1', qos: 0, dup: false, retain: false })
    await client.next('publish')
  }
  return client
}

/** Waits until the refusal of this client is stored. */
const refusalOf = (clientId: string) =>
  eventually(async () => {
    const [refusal] = await waypost.kit.db.sql`
      select reason, tenant_id, endpoint_id from traffic_log.refusals where client_id = ${clientId}`
    assert.ok(refusal)
    return { ...refusal }
  })

test('a malformed packet of a connection with endpoints of two tenants is recorded without a tenant', async () => {
  const client = await connectionOf('two-tenants', [await aProvisionedEndpoint(), await aProvisionedEndpoint(other)])
  client.send(malformedPublish)
  assert.deepEqual(await refusalOf('two-tenants'), { reason: 'malformed_packet', tenantId: '', endpointId: null })
})

test('a malformed packet of a connection with several endpoints of one tenant is recorded under the tenant', async () => {
  const client = await connectionOf('one-tenant', [await aProvisionedEndpoint(), await aProvisionedEndpoint()])
  client.send(malformedPublish)
  const expected = { reason: 'malformed_packet', tenantId: 'default', endpointId: null }
  assert.deepEqual(await refusalOf('one-tenant'), expected)
})

test('a malformed packet that arrives while the message before it is identified is recorded under the endpoint of the message', async () => {
  const endpoint = await aProvisionedEndpoint()
  const client = await connected(port, { clientId: 'early' })
  const publish = {
    cmd: 'publish',
    topic: `${endpoint.prefix}/json`,
    payload: '1',
    qos: 0,
    dup: false,
    retain: false,
  } as const
  client.send(Buffer.concat([generate(publish), malformedPublish]))
  const expected = { reason: 'malformed_packet', tenantId: 'default', endpointId: endpoint.endpointId }
  assert.deepEqual(await refusalOf('early'), expected)
})

test('a message without a token is recorded under the only endpoint of its connection', async () => {
  const endpoint = await aProvisionedEndpoint()
  for (const [topic, reason] of [
    ['home/kitchen', 'topic_foreign'],
    [`kp1/${endpoint.version}`, 'topic_malformed'],
  ] as const) {
    const client = await connectionOf(reason, [endpoint])
    client.send({ cmd: 'publish', topic, payload: '1', qos: 0, dup: false, retain: false })
    assert.deepEqual(await refusalOf(reason), { reason, tenantId: 'default', endpointId: endpoint.endpointId })
  }
})
