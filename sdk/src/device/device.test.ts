import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import { connect, WaypostError } from './index.ts'

/** Connects a device over HTTP. Its first two requests for commands fail. */
async function aDevice(onError: (error: unknown) => void) {
  const paths: string[] = []
  const requested = () => paths.filter((path) => path.endsWith('/command')).length
  const device = await connect({
    url: 'http://127.0.0.1:9',
    version: 'v',
    token: 't',
    pollMs: 100_000,
    fetch: async (address) => {
      const { pathname } = new URL(String(address))
      paths.push(pathname)
      if (pathname.endsWith('/command') && requested() < 3) throw new TypeError('fetch failed')
      return Response.json([])
    },
    onCommand: () => {},
    onError,
  })
  return { device, paths }
}

test('a device over HTTP that reconnects several times sends one poll for each connection, and closes without an error', async () => {
  const errors: unknown[] = []
  const { device, paths } = await aDevice((error) => void errors.push(error))
  // Messages are sent in order. The first of these two messages therefore waits for all requests of earlier connections.
  await device.request('dcx', 'json')
  await device.request('dcx', 'json')
  assert.deepEqual(paths, [...Array(3).fill('/kp1/v/cex/t/command'), ...Array(2).fill('/kp1/v/dcx/t/json')])
  await device.close()
  assert.deepEqual(errors, [])
})

test('connect rejects an address without a scheme of HTTP or MQTT', async () => {
  for (const url of ['', 'localhost', 'localhost:1883', 'ftp://127.0.0.1'])
    await assert.rejects(
      connect({ url, version: 'v', token: 't' }),
      (error) => error instanceof WaypostError && error.code === 'invalid_argument' && error.field === 'url',
      url,
    )
})

test('the name of a resource may be empty; a request without an extension is rejected, and later requests are sent', async () => {
  const { device, paths } = await aDevice((error) => assert.fail(String(error)))
  assert.deepEqual(await device.request('tsx', ''), [])
  assert.equal(paths.at(-1), '/kp1/v/tsx/t')
  await assert.rejects(
    device.request('', 'json'),
    (error) => error instanceof WaypostError && error.code === 'invalid_argument',
  )
  assert.deepEqual(await device.request('dcx', 'json'), [])
  await device.close()
})

/** Connects a device over MQTT, and records the topics to which it publishes. The simulated platform answers every message. */
async function anMqttDevice() {
  const topics: string[] = []
  const client = Object.assign(new EventEmitter(), {
    publish(topic: string, _payload: string, _options: object, done: () => void) {
      topics.push(topic)
      done()
      client.emit('message', `${topic}/status`, new Uint8Array())
    },
    end: (_force: boolean, _options: object, done?: () => void) => done?.(),
  })
  const mqtt = {
    connect: () => {
      setImmediate(() => client.emit('connect'))
      return client
    },
  }
  return { device: await connect({ url: 'mqtt://127.0.0.1:9', version: 'v', token: 't', mqtt }), topics }
}

test('a message that is too large for MQTT is rejected, and the next messages are sent', async () => {
  const { device, topics } = await anMqttDevice()
  const large = device.sample({ photo: 'é'.repeat(600_000) })
  await assert.rejects(large, (error) => error instanceof WaypostError && error.status === 413)
  await device.sample({ photo: 'e'.repeat(1_000_000) })
  await device.request('tsx', '')
  assert.deepEqual(topics, ['kp1/v/dcx/t/json/2', 'kp1/v/tsx/t/3'])
  await device.close()
})

test('a sample that is no object, and a message that JSON cannot represent, is rejected with a sentence', async () => {
  const { device } = await aDevice(() => {})
  const wrong = [5, 'text', null, undefined, true, [5], [[]], { count: 1n }]
  for (const sample of wrong)
    await assert.rejects(
      device.sample(sample as never),
      (error) =>
        error instanceof WaypostError &&
        error.code === 'invalid_argument' &&
        /expected an object|as JSON/.test(error.message),
      String(sample),
    )
  await device.close()
})
