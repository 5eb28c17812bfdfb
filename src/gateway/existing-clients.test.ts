/** Existing firmware and scripts must work unchanged (document 3, part 2). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { connected, connectPacket, rawClient } from '../../test/harness/mqtt-raw.ts'
import { startUndisturbedTime } from '../../test/harness/undisturbed-time.ts'

const fixture = await openGateway()
const { aProvisionedEndpoint, gateway, test: extension } = fixture
const port = Number(new URL(fixture.mqttUrl).port)
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

test('a client that has no client id and no subscription and sends before CONNACK gets responses and pushes', async () => {
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

test('the message of a client that sends CONNECT, PUBLISH and DISCONNECT in one write is stored', async () => {
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

test('when several clients connect with the same id, the last client has the session, and each endpoint is bound to its last connection', async () => {
  const [one, two] = [await aProvisionedEndpoint(), await aProvisionedEndpoint()]
  const first = await connected(port, { clientId: 'counter' })
  first.send(publish(`${one.prefix}/json`))
  await first.next('puback')
  const second = await connected(port, { clientId: 'counter' })
  await first.closed()
  second.send(publish(`${two.prefix}/json`))
  await second.next('puback')
  await eventually(() => assert.equal(gateway.isConnected(one.endpointId), false))
  // The first client reconnects and is served again. Real clients do this in a loop.
  const again = await connected(port, { clientId: 'counter' })
  await second.closed()
  again.send(publish(`${one.prefix}/json`))
  await again.next('puback')
  assert.equal(await gateway.send(one.endpointId, push('on')), 'delivered')
  assert.equal((await again.next('publish')).topic, `${one.prefix}/command/blink/status`)
})

test('CONNACK arrives within a second while 200 clients connect at the same time', async () => {
  const connectMany = (round: number) =>
    Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const client = await rawClient(port)
        const undisturbedMs = startUndisturbedTime()
        client.send(connectPacket({ clientId: `crowd-${round}-${index}` }))
        await client.next('connack')
        client.destroy()
        return undisturbedMs()
      }),
    )
  // At least one of five rounds must be fast, because other programs of the machine may slow down a round.
  const longest: number[] = []
  for (let round = 0; round < 5 && !longest.some((ms) => ms < 1000); round++)
    longest.push(Math.max(...(await connectMany(round))))
  assert.ok(Math.min(...longest) < 1000, `${longest} ms`)
})
