/** Habits of firmware and scripts that are there already (document 3, part 2): they must run here unchanged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { connected, connectPacket, rawClient } from '../../test/harness/mqtt-raw.ts'

const gate = await openGateway()
const { aProvisionedEndpoint, gateway, test: extension } = gate
const port = Number(new URL(gate.mqttUrl).port)
const publish = (topic: string, payload = '{}', messageId = 1) => ({
  cmd: 'publish' as const,
  topic,
  payload,
  messageId,
  qos: 1 as const,
  dup: false,
  retain: false,
})
const push = (text: string) => ({ extension: 'test', resourcePath: '/command/blink', payload: [text] })

test('without a client id, with a message before CONNACK, and never a subscription: it is answered and pushed to', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const device = await rawClient(port)
  device.send(connectPacket({ clientId: '' }), publish(`${prefix}/json/0`))
  assert.equal((await device.next('connack')).returnCode, 0)
  const answers = [await device.next(), await device.next()]
  assert.deepEqual(answers.map(({ cmd }) => cmd).sort(), ['puback', 'publish'])
  assert.equal(answers.find((packet) => packet.cmd === 'publish')!.topic, `${prefix}/json/0/status`)
  assert.equal(await gateway.send(endpointId, push('on')), 'delivered')
  const { topic, payload, qos } = await device.next('publish')
  assert.deepEqual([topic, String(payload), qos], [`${prefix}/command/blink/status`, '["on"]', 0])
})

test('all in one breath, and gone: what was said is stored', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const device = await rawClient(port)
  device.send(connectPacket({ clientId: '' }), publish(`${prefix}/json`, 'last words'), { cmd: 'disconnect' })
  await device.closed()
  await eventually(() =>
    assert.ok(
      extension.messages.some(({ endpoint, text }) => endpoint.endpointId === endpointId && text === 'last words'),
    ),
  )
})

test('many with the client id "counter": the last one has the session, and each endpoint its last connection', async () => {
  const [one, two] = [await aProvisionedEndpoint(), await aProvisionedEndpoint()]
  const first = await connected(port, { clientId: 'counter' })
  first.send(publish(`${one.prefix}/json`))
  await first.next('puback')
  const second = await connected(port, { clientId: 'counter' })
  await first.closed()
  second.send(publish(`${two.prefix}/json`))
  await second.next('puback')
  await eventually(() => assert.equal(gateway.isConnected(one.endpointId), false))
  // The first one comes again, as its reconnect loop does, and is heard again.
  const again = await connected(port, { clientId: 'counter' })
  await second.closed()
  again.send(publish(`${one.prefix}/json`))
  await again.next('puback')
  assert.equal(await gateway.send(one.endpointId, push('on')), 'delivered')
  assert.equal((await again.next('publish')).topic, `${one.prefix}/command/blink/status`)
})

test('CONNACK is there within the second that a client waits, also while hundreds come at once', async () => {
  const crowd = (round: number) =>
    Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const client = await rawClient(port)
        const started = performance.now()
        client.send(connectPacket({ clientId: `crowd-${round}-${index}` }))
        await client.next('connack')
        client.cut()
        return performance.now() - started
      }),
    )
  // Other work on this machine disturbs too, but not in every round.
  const longest: number[] = []
  for (let round = 0; round < 5 && !longest.some((ms) => ms < 1000); round++)
    longest.push(Math.max(...(await crowd(round))))
  assert.ok(Math.min(...longest) < 1000, `${longest} ms`)
})
