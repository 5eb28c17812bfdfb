/**
 * A device over MQTT, with the package `mqtt`. Each connection uses a new client of the package: a client that reconnects would repeat
 * unacknowledged messages, which the queue of the SDK also does.
 */
import { WaypostError } from '../errors.ts'
import { type Link, type LinkEvents, type Message, rejectionOf } from './link.ts'

/** The part of the package `mqtt` that is used. */
export interface MqttModule {
  connect(url: string, options: Record<string, unknown>): MqttClient
}
export interface MqttClient {
  // biome-ignore lint/suspicious/noExplicitAny: the listeners of the package have many types
  on(event: any, listener: (...values: any[]) => void): unknown
  publish(topic: string, payload: string, options: { qos: 0 | 1 | 2 }, done: (error?: Error | null) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: the callback of the package has several types
  end(force: boolean, options: any, done?: any): unknown
}

export interface MqttOptions {
  url: string
  version: string
  token: string
  clientId: string
  username?: string | undefined
  password?: string | undefined
  /** Options of `mqtt.connect`, such as certificates. */
  connection?: Record<string, unknown> | undefined
  module: MqttModule
}

const connectTimeoutMs = 20_000
const responseTimeoutMs = 20_000
const requestIdMax = 2_000_000_000
/**
 * Maximum packet size of the platform. It closes the connection when it gets a larger packet, and the device would send the packet again
 * over each new connection, so larger messages are rejected here.
 */
const packetBytesMax = 1_048_576
const headerBytesMax = 16
const decoder = new TextDecoder()

/**
 * Returns whether the packet is too large. The bytes are counted only if the text can be too large: a UTF-16 unit takes at most three
 * bytes.
 */
const isTooLarge = (topic: string, payload: string) => {
  const isShort = (topic.length + payload.length) * 3 + headerBytesMax <= packetBytesMax
  return !isShort && new TextEncoder().encode(topic + payload).length + headerBytesMax > packetBytesMax
}

/** Imports the package `mqtt`. Rejects if it is not installed. */
export async function loadMqtt(): Promise<MqttModule> {
  // The name is a variable, so that bundlers do not try to include the package.
  const name = 'mqtt'
  try {
    const loaded = await import(name)
    return (loaded.default ?? loaded) as MqttModule
  } catch (cause) {
    throw new WaypostError('MQTT needs the package mqtt: npm install mqtt', { code: 'invalid_argument', cause })
  }
}

const tooLarge = ({ extension, resource }: Message) =>
  new WaypostError(`The message is larger than ${packetBytesMax} bytes`, {
    status: 413,
    operation: `${extension}/${resource}`,
  })

interface Waiting {
  resolve(payload: string): void
  reject(error: WaypostError): void
  timer: ReturnType<typeof setTimeout>
  message: Message
}

export async function openMqttLink(options: MqttOptions, { onPush, onLost }: LinkEvents): Promise<Link> {
  const { connect } = options.module
  const prefix = `kp1/${options.version}/`
  const topicOf = (extension: string, rest: string) => `${prefix}${extension}/${options.token}/${rest}`
  const waiting = new Map<string, Waiting>()
  let [requestId, open]: [number, boolean] = [0, false]
  const client = connect(options.url, {
    ...options.connection,
    clientId: options.clientId,
    ...(options.username !== undefined && { username: options.username, password: options.password }),
    clean: true,
    reconnectPeriod: 0,
    connectTimeout: connectTimeoutMs,
  })

  function lose(error: WaypostError) {
    for (const { reject, timer } of waiting.values()) {
      clearTimeout(timer)
      reject(error)
    }
    waiting.clear()
    if (open) onLost(error)
    open = false
  }

  function receive(topic: string, payload: string) {
    const [extension = '', token, ...path] = topic.slice(prefix.length).split('/')
    const outcome = path.pop()
    if (!topic.startsWith(prefix) || token !== options.token) return
    const request = waiting.get(`${extension}/${path.join('/')}`)
    if (request === undefined) {
      if (outcome === 'status') onPush(extension, path, payload)
      return
    }
    waiting.delete(`${extension}/${path.join('/')}`)
    clearTimeout(request.timer)
    if (outcome === 'error') request.reject(rejectionOf(payload, request.message))
    else request.resolve(payload)
  }

  const lost = (cause?: unknown) =>
    new WaypostError(`The connection to ${new URL(options.url).host} was lost`, { code: 'interrupted', cause })
  await new Promise<void>((resolve, reject) => {
    let problem: unknown
    client.on('connect', () => {
      open = true
      resolve()
    })
    client.on('message', (topic: string, payload: Uint8Array) => receive(topic, decoder.decode(payload)))
    client.on('error', (error: unknown) => {
      problem = error
    })
    client.on('close', () => {
      const text = problem instanceof Error ? problem.message : 'the platform closed the connection'
      reject(new WaypostError(`${new URL(options.url).host} is not reachable: ${text}`, { cause: problem }))
      lose(lost(problem))
    })
  }).catch((error) => {
    client.end(true, {})
    throw error
  })

  return {
    concurrency: 32,
    pushes: true,
    request: (message) =>
      new Promise((resolve, reject) => {
        requestId = (requestId % requestIdMax) + 1
        // Some extensions, such as `tsx`, have a resource without a name.
        const path = message.resource === '' ? `${requestId}` : `${message.resource}/${requestId}`
        const key = `${message.extension}/${path}`
        const topic = topicOf(message.extension, path)
        if (isTooLarge(topic, message.payload)) return reject(tooLarge(message))
        // If the platform does not respond, the connection is closed, and the message is sent again over the next connection.
        const timer = setTimeout(() => client.end(true, {}), responseTimeoutMs)
        waiting.set(key, { resolve, reject, timer, message })
        client.publish(topic, message.payload, { qos: 1 }, (error) => {
          if (!error || !waiting.delete(key)) return
          clearTimeout(timer)
          reject(lost(error))
        })
      }),
    async close() {
      open = false
      await new Promise<void>((resolve) => client.end(false, {}, () => resolve()))
      lose(lost())
    },
  }
}
