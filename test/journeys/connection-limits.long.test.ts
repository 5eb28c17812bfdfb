/** Runs the program with few file descriptors. Idle connections must not prevent other clients from connecting. */
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { generate } from 'mqtt-packet'
import { afterAllTests } from '../harness/database.ts'
import { aDevice } from '../harness/device.ts'
import { eventually } from '../harness/eventually.ts'
import { createFixtures } from '../harness/gateway.ts'
import { connectPacket } from '../harness/mqtt-raw.ts'
import { startPlatform } from '../harness/platform.ts'

const platform = await startPlatform({ descriptors: 500 })
const sockets: Socket[] = []
afterAllTests(() => {
  for (const socket of sockets) socket.destroy()
})

/** Opens a connection. The returned promise resolves when the operating system accepts the connection, possibly before the program does. */
const open = (clientId?: string) =>
  new Promise<void>((resolve) => {
    const { hostname, port } = new URL(platform.mqttUrl)
    const socket = connect(Number(port), hostname, () => {
      if (clientId !== undefined) socket.write(generate(connectPacket({ clientId })))
      resolve()
    })
    socket.on('error', () => {})
    socket.on('close', resolve)
    sockets.push(socket)
  })

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${platform.managementUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`${name} `))
  return Number(line?.slice(name.length) ?? 0)
}

test('a thousand anonymous connections from one address do not prevent connections of other clients', async () => {
  const ask = await platform.asService(platform.bootstrap.default)
  const { prefix } = await createFixtures(ask).aProvisionedEndpoint()
  const topic = `${prefix.replace('/test/', '/epmx/')}/get`
  const sendAndAwaitResponse = async (device: Awaited<ReturnType<typeof aDevice>>, id: number) => {
    await device.publish(`${topic}/${id}`)
    await device.receives(`${topic}/${id}/status`)
  }
  const connectedBefore = await aDevice(platform.mqttUrl)
  await sendAndAwaitResponse(connectedBefore, 1)
  // Half of the connections send nothing. The other half send CONNECT without credentials.
  for (let n = 0; n < 1000; n += 50)
    await Promise.all(Array.from({ length: 50 }, (_, i) => open(i % 2 ? `idle-${n + i}` : undefined)))
  await eventually(async () =>
    assert.ok((await metric('waypost_connections_evicted_total{listener="mqtt",reason="total"}')) >= 600),
  )

  const answer = await ask('GET /api/v1/applications')
  assert.equal(answer.status, 200)
  const health = await fetch(`${platform.managementUrl}/health/ready`)
  assert.equal(health.status, 200, await health.text())
  assert.ok((await metric('waypost_connections_open{listener="mqtt"}')) <= 303 + 32)
  for (const url of [platform.mqttUrl, platform.mqttsUrl, platform.baseUrl.replace('http:', 'ws:').concat('/mqtt')]) {
    const connectedAfter = await aDevice(url, { rejectUnauthorized: false })
    await sendAndAwaitResponse(connectedAfter, 2)
    await connectedAfter.end()
  }
  assert.ok(connectedBefore.client.connected)
  await sendAndAwaitResponse(connectedBefore, 3)
  assert.equal(await metric('waypost_file_descriptors_exhausted_total{listener="probe"}'), 0)
  const lines = platform.output().match(/closing connections that are idle/g) ?? []
  assert.ok(lines.length >= 1 && lines.length <= 5, `${lines.length} lines`)
})
