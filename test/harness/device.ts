/** MQTT devices for tests: real clients over real sockets. */
import assert from 'node:assert/strict'
import { connect, type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt'
import { afterAllTests } from './database.ts'
import { eventually } from './eventually.ts'

export interface ReceivedMessage {
  topic: string
  payload: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read payloads of every shape
  json: any
  qos: number
  packet: IPublishPacket
}

export interface TestDevice {
  client: MqttClient
  received: ReceivedMessage[]
  sessionPresent: boolean
  /** Publishes a message and waits for the acknowledgement. A payload that is neither text nor bytes is sent as JSON. */
  publish(topic: string, payload?: unknown, options?: Parameters<MqttClient['publish']>[2]): Promise<unknown>
  /** Waits for the next message on this topic and removes it from `received`. */
  receives(topic: string, withinMs?: number): Promise<ReceivedMessage>
  /** Waits for this time, then asserts that `received` is empty. */
  receivesNothing(forMs?: number): Promise<void>
  closed(withinMs?: number): Promise<void>
  end(): Promise<void>
}

export async function aDevice(url: string, options: IClientOptions = {}): Promise<TestDevice> {
  const received: ReceivedMessage[] = []
  let open = true
  let sessionPresent = false
  const client = connect(url, { reconnectPeriod: 0, connectTimeout: 30_000, ...options })
  // The listener is registered before the connection is open: queued messages arrive directly after CONNACK.
  client.on('message', (topic, payload, packet) => {
    const text = payload.toString()
    received.push({ topic, payload, text, json: parsed(text), qos: packet.qos, packet })
  })
  client.on('close', () => {
    open = false
  })
  await new Promise<void>((resolve, reject) => {
    client.once('connect', (packet) => {
      sessionPresent = packet.sessionPresent
      resolve()
    })
    client.on('error', reject)
    client.once('close', () => reject(new Error('closed before it was connected')))
  })
  const end = async () => {
    if (open) await client.endAsync(true)
  }
  afterAllTests(end)
  return {
    client,
    received,
    sessionPresent,
    publish: (topic, payload = '', settings = { qos: 1 }) =>
      client.publishAsync(topic, textOf(payload), settings as Parameters<MqttClient['publishAsync']>[2]),
    receives: (topic, withinMs = 5000) =>
      eventually(
        () => {
          const at = received.findIndex((message) => message.topic === topic)
          assert.ok(
            at >= 0,
            `no message on ${topic}; received ${received.map((message) => `${message.topic} ${message.text}`)}`,
          )
          return received.splice(at, 1)[0]!
        },
        { withinMs, everyMs: 5 },
      ),
    async receivesNothing(forMs = 150) {
      await new Promise((resolve) => setTimeout(resolve, forMs))
      assert.deepEqual(
        received.map(({ topic, text }) => `${topic} ${text}`),
        [],
      )
    },
    closed: (withinMs = 2000) =>
      eventually(() => assert.ok(!open, 'the connection must be closed'), { withinMs, everyMs: 5 }),
    end,
  }
}

const parsed = (text: string) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
const textOf = (payload: unknown): string | Buffer =>
  typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload)
