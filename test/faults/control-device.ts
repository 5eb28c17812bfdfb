/**
 * A device that answers commands, applies configurations and installs software, over MQTT 3.1.1, MQTT 5 or HTTP polling. It reconnects to a
 * random node after each failure, and records everything that it receives.
 */
import { createHash } from 'node:crypto'
import { connect, type MqttClient } from 'mqtt'
import { sleep } from '../../src/kernel/clock.ts'
import type { RunningPlatform } from '../harness/platform.ts'

export type Protocol = 'mqtt 3.1.1' | 'mqtt 5' | 'http'

export interface Arrival {
  id: number
  n: number
  /** Milliseconds since 1970. */
  at: number
}

export interface ControlDevice {
  endpointId: string
  protocol: Protocol
  arrivals: Arrival[]
  /** Commands that the device got again after the platform had acknowledged their results. */
  repeated: Arrival[]
  /** The last configuration of each name. */
  configurations: Map<string, unknown>
  /** The id of the installed software version. */
  software: string
  /** Checksums of downloads by version. */
  downloads: Map<string, string>
  downloadsFailed: number
  stop(): Promise<void>
}

interface Deps {
  nodes: RunningPlatform[]
  random(): number
  version: string
}

interface State extends ControlDevice, Deps {
  token: string
  acknowledged: Set<number>
  isStopped: boolean
  installing: string | undefined
}

type Send = (extension: string, path: string, payload: unknown) => Promise<unknown>

const pauseMs = 50
const requestMs = 3000

export function startControlDevice(
  deps: Deps,
  { endpointId, token, protocol }: { endpointId: string; token: string; protocol: Protocol },
): ControlDevice {
  const state: State = {
    ...deps,
    endpointId,
    token,
    protocol,
    arrivals: [],
    repeated: [],
    configurations: new Map(),
    software: '1.0.0',
    downloads: new Map(),
    downloadsFailed: 0,
    acknowledged: new Set(),
    isStopped: false,
    installing: undefined,
    async stop() {
      state.isStopped = true
      await running
    },
  }
  const running = (async () => {
    while (!state.isStopped) {
      await (protocol === 'http' ? poll(state) : stayConnected(state)).catch(() => {})
      await sleep(pauseMs)
    }
  })()
  return state
}

const aNode = ({ nodes, random }: Deps) => nodes[Math.floor(random() * nodes.length)]!

/** Connects and handles messages until the connection breaks. */
async function stayConnected(state: State) {
  const { version, token, protocol } = state
  const client = connect(aNode(state).mqttUrl, {
    reconnectPeriod: 0,
    connectTimeout: requestMs,
    protocolVersion: protocol === 'mqtt 5' ? 5 : 4,
  })
  // Each unacknowledged message adds a listener for the end of the connection, so Node.js must not warn about many listeners.
  client.setMaxListeners(0)
  const send: Send = (extension, path, payload) =>
    publish(client, `kp1/${version}/${extension}/${token}${path}`, payload)
  const closed = new Promise<void>((done) => void client.once('close', () => done()))
  client.on('error', () => client.end(true))
  client.on('message', (topic, payload) => {
    const [, , extension, , ...path] = topic.split('/')
    if (path.at(-1) === 'status') void receive(state, send, extension!, path, payload.toString()).catch(() => {})
  })
  client.once('connect', () => void send('cmx_ota', '/applied/json', report(state.software)).catch(() => {}))
  while (!state.isStopped && !client.disconnected && !(await Promise.race([closed.then(() => true), sleep(pauseMs)])));
  client.end(true)
  await closed
}

/** Publishes a message. Rejects if the connection ends before the acknowledgement. */
function publish(client: MqttClient, topic: string, payload: unknown) {
  const closed = new Promise<never>((_, reject) => void client.once('close', () => reject(new Error('closed'))))
  closed.catch(() => {})
  return Promise.race([client.publishAsync(topic, JSON.stringify(payload), { qos: 1 }), closed])
}

/** Polls commands, configurations and software once. */
async function poll(state: State) {
  const { baseUrl } = aNode(state)
  const send = async (extension: string, path: string, payload: unknown) => {
    const url = `${baseUrl}/kp1/${state.version}/${extension}/${state.token}${path}`
    const body = JSON.stringify(payload)
    const answer = await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(requestMs) })
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`)
    return text
  }
  await send('cmx_ota', '/applied/json', report(state.software))
  const commands = (await send('cex', '/command', {})) as string
  for (const [type, ofType] of Map.groupBy(parse(commands) as Command[], ({ type }) => type ?? ''))
    await answer(state, send, type, ofType)
  for (const name of configurationNames) {
    const text = await send('cmx', `/config/json/${name}`, {})
    if (text !== '') await receive(state, send, 'cmx', ['config', 'json', name, 'status'], text)
  }
  await receive(state, send, 'cmx_ota', ['config', 'json', 'status'], await send('cmx_ota', '/config/json', {}))
}

export const configurationNames = ['own', 'fleet']

const report = (configId: string) => ({ configId, statusCode: 200 })
const parse = (text: string): unknown => (text === '' ? [] : JSON.parse(text))

interface Command {
  id: number
  type?: string
  payload: { n: number }
}

async function receive(state: State, send: Send, extension: string, path: string[], text: string) {
  if (extension === 'cex' && path[0] === 'command') return await answer(state, send, path[1]!, parse(text) as Command[])
  if (path[0] !== 'config' || text === '') return
  const { configId, config } = JSON.parse(text) as { configId?: string; config?: unknown }
  if (configId === undefined || config === null) return
  if (extension === 'cmx') {
    state.configurations.set(path[2]!, config)
    await send('cmx', `/applied/json/${path[2]}`, report(configId))
  } else if (extension === 'cmx_ota') await install(state, send, configId, config as { link?: string })
}

async function answer(state: State, send: Send, type: string, commands: Command[]) {
  for (const { id, payload } of commands) {
    const arrival = { id, n: payload.n, at: Date.now() }
    state.arrivals.push(arrival)
    if (state.acknowledged.has(id)) state.repeated.push(arrival)
  }
  const results = commands.map(({ id, payload }) => ({ id, statusCode: 200, payload: { n: payload.n } }))
  if (results.length === 0) return
  await send('cex', `/result/${type}`, results)
  for (const { id } of results) state.acknowledged.add(id)
}

async function install(state: State, send: Send, configId: string, { link }: { link?: string }) {
  if (state.installing === configId || state.software === configId || link === undefined) return
  state.installing = configId
  try {
    state.downloads.set(configId, await download(state, link))
    state.software = configId
    await send('cmx_ota', '/applied/json', report(configId))
  } finally {
    state.installing = undefined
  }
}

/** Downloads from a random node, and continues an interrupted download at another node. */
async function download(state: State, link: string): Promise<string> {
  const { pathname, search } = new URL(link)
  const hash = createHash('sha256')
  let received = 0
  while (!state.isStopped) {
    try {
      const headers: Record<string, string> = received > 0 ? { range: `bytes=${received}-` } : {}
      const response = await fetch(aNode(state).baseUrl + pathname + search, { headers })
      if (response.status !== (received > 0 ? 206 : 200)) throw new Error(`download: ${response.status}`)
      for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
        hash.update(bytes)
        received += bytes.length
      }
      return hash.digest('hex')
    } catch {
      state.downloadsFailed++
      await sleep(pauseMs)
    }
  }
  throw new Error('the device was stopped')
}
