/** Runs Debian's mosquitto as the MQTT server of a LoRaWAN network, and simulates its devices. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import { afterAllTests, temporaryDirectory } from './database.ts'
import { eventually } from './eventually.ts'
import { freePort } from './free-port.ts'

const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

export interface Broker {
  port: number
  /** The password of every user. */
  password: string
  stop(): Promise<void>
  start(): Promise<void>
  /** Kills the process with SIGKILL. */
  kill(): Promise<void>
  /** Connects as the LoRaWAN network, which may publish and subscribe to every topic. */
  network(): Promise<Network>
}

/** Starts a broker whose users all have the same password. The broker keeps sessions across restarts and is stopped after the tests. */
export async function aBroker(
  users: string[],
  options: { tls?: { key: string; certificate: string } } = {},
): Promise<Broker> {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  const port = await freePort()
  const password = 'NNSXS.SECRET-KEY.ABCDEF'
  const passwords = join(directory, 'passwords')
  writeFileSync(passwords, ['network', ...users].map((user) => `${user}:${password}\n`).join(''), { mode: 0o600 })
  execFileSync('mosquitto_passwd', ['-U', passwords], { env: environment })
  const lines = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous false',
    `password_file ${passwords}`,
    'persistence true',
    `persistence_location ${directory}/`,
    'max_queued_messages 0',
    'max_inflight_messages 100',
    'log_dest none',
    ...(process.getuid?.() === 0 ? ['user root'] : []),
  ]
  if (options.tls) {
    writeFileSync(join(directory, 'key.pem'), options.tls.key, { mode: 0o600 })
    writeFileSync(join(directory, 'certificate.pem'), options.tls.certificate)
    lines.push(`keyfile ${directory}/key.pem`, `certfile ${directory}/certificate.pem`)
  }
  const file = join(directory, 'mosquitto.conf')
  writeFileSync(file, `${lines.join('\n')}\n`)
  let server: ChildProcess | undefined
  const end = async (signal: NodeJS.Signals) => {
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill(signal)
    await ended
  }
  const broker: Broker = {
    port,
    password,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    async start() {
      server = spawn('mosquitto', ['-c', file], { stdio: 'ignore', env: environment })
      await eventually(() => accepts(port))
    },
    network: () => aNetwork(port, password, options.tls !== undefined),
  }
  await broker.start()
  afterAllTests(() => broker.kill())
  return broker
}

const accepts = (port: number) =>
  new Promise<void>((resolve, reject) => {
    const socket = connectTcp({ port, host: '127.0.0.1' }, () => {
      socket.end()
      resolve()
    })
    socket.on('error', reject)
  })

export interface Network {
  client: MqttClient
  /** Publishes an uplink of a device; resolves when the broker has acknowledged it. */
  uplink(username: string, netDeviceId: string, uplink: object, message?: object): Promise<void>
  raw(topic: string, payload: string | Buffer, qos?: 0 | 1): Promise<void>
  /** The downlinks that the platform has pushed, in order. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read every field
  pushed: { topic: string; downlink: any }[]
  /** Publishes a report about a downlink, as the network does; `word` is its outcome, such as `sent`. */
  report(username: string, netDeviceId: string, word: string, downlink: object, more?: object): Promise<void>
  end(): Promise<void>
}

async function aNetwork(port: number, password: string, isTls: boolean): Promise<Network> {
  const url = `${isTls ? 'mqtts' : 'mqtt'}://127.0.0.1:${port}`
  const client = await connectAsync(url, {
    username: 'network',
    password,
    rejectUnauthorized: false,
    reconnectPeriod: 200,
  })
  afterAllTests(() => void client.end(true))
  const pushed: Network['pushed'] = []
  client.on('message', (topic, payload) => {
    for (const downlink of JSON.parse(payload.toString()).downlinks) pushed.push({ topic, downlink })
  })
  await client.subscribeAsync('v3/+/devices/+/down/push', { qos: 1 })
  const raw: Network['raw'] = async (topic, payload, qos = 1) =>
    void (await client.publishAsync(topic, payload, { qos }))
  return {
    client,
    pushed,
    raw,
    uplink: (username, netDeviceId, uplink, message = {}) =>
      raw(`v3/${username}/devices/${netDeviceId}/up`, JSON.stringify(uplinkOf(netDeviceId, uplink, message))),
    report: (username, netDeviceId, word, downlink, more = {}) =>
      raw(
        `v3/${username}/devices/${netDeviceId}/down/${word}`,
        JSON.stringify({ end_device_ids: { device_id: netDeviceId }, [`downlink_${word}`]: { ...downlink, ...more } }),
      ),
    end: async () => void (await client.endAsync()),
  }
}

/** Returns an uplink in the format in which a network publishes it. */
export const uplinkOf = (netDeviceId: string, uplink: object, message: object = {}) => ({
  end_device_ids: { device_id: netDeviceId, application_ids: { application_id: 'app' } },
  correlation_ids: ['as:up:01'],
  received_at: new Date().toISOString(),
  ...message,
  uplink_message: { session_key_id: 'AXA50==', f_port: 1, settings: {}, ...uplink },
})
