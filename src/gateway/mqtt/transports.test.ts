/** Tests the common client MQTT.js over each kind of stream that the listeners pass to the MQTT layer. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { createWebSocketStream, WebSocketServer } from 'ws'
import { afterAllTests } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openMqttServer } from '../../../test/harness/mqtt-server.ts'

async function withWebSockets() {
  const waypost = await openMqttServer()
  const server = createServer()
  new WebSocketServer({ server, handleProtocols: () => 'mqtt' }).on('connection', (socket) =>
    waypost.sessions.accept(createWebSocketStream(socket), { transport: 'websocket', address: '127.0.0.1' }),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterAllTests(() => server.closeAllConnections())
  afterAllTests(() => void server.close())
  return { waypost, url: `ws://127.0.0.1:${(server.address() as { port: number }).port}/ws` }
}

async function withTcp() {
  const waypost = await openMqttServer()
  return { waypost, url: `mqtt://127.0.0.1:${waypost.port}` }
}

for (const [transport, start] of Object.entries({ tcp: withTcp, websocket: withWebSockets }))
  for (const protocolVersion of [4, 5] as const)
    test(`MQTT.js publishes and receives messages with MQTT ${protocolVersion} over ${transport}`, async () => {
      const { waypost, url } = await start()
      const client = await mqtt.connectAsync(url, { clientId: 'usual', protocolVersion, reconnectPeriod: 0 })
      const arrived: string[] = []
      client.on('message', (topic, payload) => arrived.push(`${topic} ${payload}`))
      await client.subscribeAsync('answers/#', { qos: 2 })
      for (const qos of [0, 1, 2] as const) await client.publishAsync('questions', Buffer.alloc(100_000, 'x'), { qos })
      assert.deepEqual(
        waypost.published.map(({ qos, payload }) => [qos, payload.length]),
        [0, 1, 2].map((qos) => [qos, 100_000]),
      )
      for (const qos of [0, 1, 2] as const)
        waypost.connections.get('usual')!.send({ topic: `answers/${qos}`, payload: Buffer.from('yes'), qos })
      await eventually(() => assert.deepEqual(arrived, ['answers/0 yes', 'answers/1 yes', 'answers/2 yes']))
      await client.endAsync()
      await eventually(() =>
        assert.deepEqual(
          waypost.disconnected.map(({ graceful }) => graceful),
          [true],
        ),
      )
      await eventually(() => assert.equal(waypost.sessions.count(), 0))
    })

test('a client that accepts topic aliases gets the right topic of each message, with any QoS', async () => {
  const { waypost, url } = await withTcp()
  const properties = { topicAliasMaximum: 5 }
  const options = { clientId: 'aliases', protocolVersion: 5, reconnectPeriod: 0, properties } as const
  const client = await mqtt.connectAsync(url, options)
  const arrived: string[] = []
  client.on('message', (topic, _payload, { qos }) => arrived.push(`${topic} ${qos}`))
  await client.subscribeAsync('answers/#', { qos: 2 })
  const sent = [0, 1, 2].flatMap((qos) => [`answers/${qos} ${qos}`, `answers/${qos} ${qos}`, `answers/all ${qos}`])
  for (const one of sent) {
    const [topic = '', qos] = one.split(' ')
    waypost.connections.get('aliases')!.send({ topic, payload: Buffer.from('yes'), qos: Number(qos) as 0 | 1 | 2 })
  }
  await eventually(() => assert.deepEqual(arrived.toSorted(), sent.toSorted()))
  await client.endAsync()
})
