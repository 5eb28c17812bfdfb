/** A device: sends samples, metadata and files, and processes commands, configurations and software, over HTTP or MQTT. */
import { createCredentials } from '../auth.ts'
import { WaypostError } from '../errors.ts'
import { readOperation } from '../operation.ts'
import { send } from '../request.ts'
import { fetchOf, type Transport } from '../running.ts'
import type { Upload } from '../types.ts'
import { openHttpLink } from './http-link.ts'
import type { Link, Message } from './link.ts'
import { loadMqtt, type MqttModule, openMqttLink } from './mqtt-link.ts'
import { createQueue } from './queue.ts'
import { createWork, type Handlers, type SoftwareFile } from './work.ts'

export { WaypostError } from '../errors.ts'
export type { MqttModule } from './mqtt-link.ts'
export type { Command, Configuration, Handlers, Report, Software, SoftwareFile } from './work.ts'

export interface DeviceOptions extends Handlers {
  /** `https://…` for HTTP; `mqtts://…` or `wss://…/mqtt` for MQTT, which needs the package `mqtt`. */
  url: string
  /** Name of the application version. */
  version: string
  /** Token of the endpoint. */
  token: string
  /** Address of the platform for files and software, if `url` is for MQTT. */
  httpUrl?: string | undefined
  /** MQTT client id. Default: a random id. */
  clientId?: string | undefined
  /** Credentials of the MQTT client, if the tenant requires them. */
  username?: string | undefined
  password?: string | undefined
  /** Further options of `mqtt.connect`, such as certificates. */
  connection?: Record<string, unknown> | undefined
  /** The package `mqtt`. Default: the SDK imports it. */
  mqtt?: MqttModule | undefined
  /**
   * Maximum number of messages that wait, while the device is offline or while the platform answers more slowly than the device sends. When
   * the queue is full, the oldest message is dropped, and `onError` is called. Default: 1000.
   */
  queueMax?: number | undefined
  /** Milliseconds between two polls for commands, configurations and software, over HTTP. Default: 5000. */
  pollMs?: number | undefined
  /**
   * Whether the device adds the current time to samples without `timestamp`, so that a sample that is sent twice is stored once. If false,
   * such samples are stored with the time of their arrival. Default: true.
   */
  stampSamples?: boolean | undefined
  fetch?: typeof fetch | undefined
  onConnected?: (() => void) | undefined
  /** Called when the platform cannot be reached; the device tries again. */
  onOffline?: ((error: WaypostError) => void) | undefined
  /** Called when a poll fails, a push cannot be processed, the platform rejects a result, or a message is dropped from the full queue. */
  onError?: ((error: unknown) => void) | undefined
}

type Json = Record<string, unknown>

export interface Device {
  /** Sends one sample, or several; resolves when the platform has stored them. */
  sample(sample: Json | readonly Json[]): Promise<void>
  metadata: {
    get(keys?: readonly string[]): Promise<Json>
    /** Sets these keys. All other keys stay unchanged. */
    update(values: Json): Promise<void>
    delete(keys: readonly string[]): Promise<void>
  }
  /** Uploads a file. A later file with the same name replaces it. */
  uploadFile(filename: string, body: Upload): Promise<void>
  /** Uploads a blob; returns its address. */
  uploadBlob(body: Upload, name?: string): Promise<string | undefined>
  /** Reports the software version that the device runs. The platform can then offer newer versions. */
  reportSoftware(version: string): Promise<void>
  /** Sends any message of the device protocol; returns the payload of the response. */
  request(extension: string, resource: string, payload?: unknown): Promise<unknown>
  readonly connected: boolean
  /** Number of messages that are not acknowledged yet. */
  readonly pending: number
  close(): Promise<void>
}

const fileUpload = readOperation('files', 'upload POST /bcx/api/v1/files/{filename} n bo hX-Auth-Token')
const blobUpload = readOperation('blobs', 'upload POST /bcx/api/v1/binary-data n bo hX-Auth-Token')

const isHttp = (url: string) => /^https?:/.test(url)

const protocols = ['http:', 'https:', 'mqtt:', 'mqtts:', 'ws:', 'wss:', 'tcp:', 'ssl:']

/** Throws for an address to which no connection can ever be opened. */
function requireAddress(url: string) {
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return
  throw new WaypostError(`url: expected an address such as https://host or mqtts://host:8883, not ${url}`, {
    code: 'invalid_argument',
    field: 'url',
  })
}

/** Connects a device. It reconnects by itself until it is closed. Messages that are sent while it is disconnected wait in a queue. */
export async function connect(options: DeviceOptions): Promise<Device> {
  requireAddress(options.url)
  const transport = httpOf(options)
  const mqtt = isHttp(options.url) ? undefined : (options.mqtt ?? (await loadMqtt()))
  let [link, closed, failures]: [Link | undefined, boolean, number] = [undefined, false, 0]
  let [timer, polling]: [ReturnType<typeof setTimeout> | undefined, boolean] = [undefined, false]
  const { onError = () => {} } = options
  const queue = createQueue({
    queueMax: options.queueMax ?? 1000,
    onSuccess: () => {
      failures = 0
    },
    onDrop: onError,
    onFailure: (error) => {
      const broken = link
      lost(error)
      void broken?.close()
    },
  })
  const closing = new AbortController()
  const download = (address: string) => downloadOf(options, transport, address, closing.signal)
  const work = createWork(options, queue.send, download, onError)

  async function open() {
    if (closed) return
    try {
      link = mqtt
        ? await openMqttLink(mqttOptionsOf(options, mqtt), { onPush: work.push, onLost: lost })
        : openHttpLink(transport!, options.version, options.token)
      if (closed) return await link.close()
      queue.use(link)
      options.onConnected?.()
      // The poll is the first message of the connection. It identifies the endpoint, and the platform then pushes waiting messages.
      await poll()
    } catch (error) {
      lost(error as WaypostError)
    }
  }

  /**
   * Polls, unless a poll is already running. A poll that waits for a connection is sent over the next connection, which then needs no poll
   * of its own.
   */
  async function poll() {
    if (polling) return
    polling = true
    await work.poll().catch((error) => {
      if (!closed) onError(error)
    })
    polling = false
    if (!closed && link?.pushes === false) timer = setTimeout(poll, options.pollMs ?? 5000)
  }

  function lost(error: WaypostError) {
    link = undefined
    queue.use(undefined)
    if (closed) return
    options.onOffline?.(error)
    clearTimeout(timer)
    timer = setTimeout(open, reconnectMsOf(++failures, error.retryAfterSeconds))
  }

  void open()
  return deviceOf(options, queue, transport, {
    isConnected: () => link !== undefined,
    setSoftware: work.setSoftware,
    async close() {
      closed = true
      clearTimeout(timer)
      closing.abort()
      queue.close()
      await link?.close()
      link = undefined
    },
  })
}

const firstReconnectMs = 500
const reconnectMsMax = 30_000

/**
 * Returns the milliseconds before the next attempt to connect. The time doubles with each failure, so that thousands of devices do not
 * overload a starting platform.
 */
function reconnectMsOf(failures: number, retryAfterSeconds = 0): number {
  const limit = Math.min(reconnectMsMax, firstReconnectMs * 2 ** (failures - 1))
  return retryAfterSeconds * 1000 + limit * (0.5 + Math.random() / 2)
}

const invalidArgument = (field: string, problem: string, cause?: unknown) =>
  new WaypostError(`${field}: ${problem}`, { code: 'invalid_argument', field, cause })

/** Returns the payload as JSON. Throws for a value that JSON cannot represent. */
function jsonOf(payload: unknown): string {
  let [text, cause]: [string | undefined, unknown] = [undefined, undefined]
  try {
    text = JSON.stringify(payload)
  } catch (error) {
    cause = error
  }
  if (text !== undefined) return text
  const reason = cause instanceof Error ? `: ${cause.message.split('\n', 1)[0]}` : ''
  throw invalidArgument('payload', `the message cannot be sent as JSON${reason}`, cause)
}

function requireSample(sample: unknown) {
  if (typeof sample === 'object' && sample !== null && !Array.isArray(sample)) return
  const given = sample === null ? 'null' : Array.isArray(sample) ? 'an array' : `a ${typeof sample}`
  throw invalidArgument(
    'sample',
    `expected an object such as { temperature: 21.5 }, or an array of objects, not ${given}`,
  )
}

interface Control {
  isConnected(): boolean
  setSoftware(version: string): void
  close(): Promise<void>
}

function deviceOf(
  options: DeviceOptions,
  queue: ReturnType<typeof createQueue>,
  transport: Transport | undefined,
  control: Control,
): Device {
  const ask = async (extension: string, resource: string, payload: unknown = {}): Promise<unknown> => {
    const message: Message = { extension, resource, payload: jsonOf(payload) }
    const text = await queue.send(message)
    return text === '' ? undefined : JSON.parse(text)
  }
  const stamped = (sample: Json) =>
    options.stampSamples === false || 'timestamp' in sample
      ? sample
      : { timestamp: new Date().toISOString(), ...sample }
  async function upload(operation: typeof fileUpload, args: Json) {
    if (transport === undefined)
      throw new WaypostError('httpUrl: files need the HTTP address of the platform', {
        code: 'invalid_argument',
        field: 'httpUrl',
      })
    const { token } = (await ask('bcx', 'token')) as { token: string }
    // Only files may be uploaded again: a repeated file replaces the first, but a repeated blob would be stored twice.
    return send(transport, operation, { ...args, 'X-Auth-Token': token }, { repeatable: operation === fileUpload })
  }
  return {
    async sample(sample) {
      for (const one of Array.isArray(sample) ? sample : [sample]) requireSample(one)
      await ask('dcx', 'json', Array.isArray(sample) ? sample.map(stamped) : stamped(sample as Json))
    },
    metadata: {
      get: async (keys) => (await ask('epmx', 'get', keys === undefined ? {} : { keys })) as Json,
      update: async (values) => void (await ask('epmx', 'update/keys', values)),
      delete: async (keys) => void (await ask('epmx', 'delete/keys', keys)),
    },
    uploadFile: async (filename, body) => void (await upload(fileUpload, { filename, body })),
    uploadBlob: async (body, name) => (await upload(blobUpload, { name, body })).location,
    async reportSoftware(version) {
      control.setSoftware(version)
      await ask('cmx_ota', 'applied/json', { configId: version, statusCode: 200 })
    },
    request: ask,
    get connected() {
      return control.isConnected()
    },
    get pending() {
      return queue.size()
    },
    close: control.close,
  }
}

function httpOf(options: DeviceOptions): Transport | undefined {
  const url = options.httpUrl ?? (isHttp(options.url) ? options.url : undefined)
  if (url === undefined) return undefined
  const base = { url: url.replace(/\/+$/, ''), ...fetchOf(options.fetch), defaults: {} }
  return { ...base, credentials: createCredentials(undefined, base) }
}

const mqttOptionsOf = (
  { url, version, token, clientId, username, password, connection }: DeviceOptions,
  module: MqttModule,
) => ({
  url,
  version,
  token,
  clientId: clientId ?? `waypost-${crypto.randomUUID()}`,
  username,
  password,
  connection,
  module,
})

/** Downloads software, from the host of the platform only. The link needs no credentials. */
async function downloadOf(
  options: DeviceOptions,
  transport: Transport | undefined,
  link: string,
  signal: AbortSignal,
): Promise<SoftwareFile> {
  const target = URL.canParse(link) ? new URL(link) : undefined
  const hosts = [options.url, options.httpUrl ?? options.url].map((url) => new URL(url).hostname)
  if (target === undefined || !/^https?:$/.test(target.protocol) || !hosts.includes(target.hostname))
    throw new WaypostError(`The software is not on the host of the platform: ${link}`, { code: 'redirected' })
  const base = transport ?? { ...fetchOf(options.fetch), defaults: {} }
  const file = readOperation('software', `file.download GET ${target.pathname} n ab hrange hif-range`)
  const args = Object.fromEntries(target.searchParams)
  const from = {
    ...base,
    url: target.origin,
    credentials: createCredentials(undefined, { ...base, url: target.origin }),
  }
  const { body, headers } = await send(from, file, args, { signal })
  return Object.assign(body as ReadableStream<Uint8Array>, { digest: headers.get('repr-digest') ?? undefined })
}
