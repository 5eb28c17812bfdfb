/** One simulated device: sends samples, answers commands, applies configurations and sometimes loses its connection. */
import { monotonicMs, systemClock } from '../../kernel/clock.ts'
import { type Link, openLink } from './link.ts'
import type { Statistics } from './statistics.ts'
import { createWorld, type World } from './world.ts'

export interface DeviceOptions {
  number: number
  url: URL
  versionName: string
  endpointId: string
  token: string
  /** Interval of samples; a configuration with `reportEverySeconds` changes it. */
  everySeconds: number
  /** Average interval of reconnections; 0 for none. */
  reconnectEverySeconds: number
  statistics: Statistics
  /** Called when the platform rejects something or cannot be reached. */
  onError(what: string): void
  /** Called when the token is unknown; resolves when it is known. */
  onUnknownToken(): Promise<void>
}

export interface Device {
  start(): void
  isConnected(): boolean
  /** Stops sending samples, and waits a while for acknowledgements. */
  stop(): Promise<void>
}

const backOffFirstMs = 1000
const backOffMaxMs = 30_000
const drainMs = 2000

/** The state of one device. */
interface State {
  options: DeviceOptions
  world: World
  everyMs: number
  link: Link | undefined
  stopped: boolean
  requestId: number
  failures: number
  connectedBefore: boolean
  tokenRequested: boolean
  sampling: NodeJS.Timeout | undefined
  interruption: NodeJS.Timeout | undefined
  retry: NodeJS.Timeout | undefined
}

export function createDevice(options: DeviceOptions): Device {
  const state: State = {
    options,
    world: createWorld(options.number),
    everyMs: options.everySeconds * 1000,
    link: undefined,
    stopped: false,
    requestId: 0,
    failures: 0,
    connectedBefore: false,
    tokenRequested: false,
    sampling: undefined,
    interruption: undefined,
    retry: undefined,
  }
  return {
    start: () => void connect(state),
    isConnected: () => state.link !== undefined,
    stop: () => stop(state),
  }
}

async function stop(state: State) {
  state.stopped = true
  for (const timer of [state.sampling, state.interruption, state.retry]) clearTimeout(timer)
  const deadline = monotonicMs() + drainMs
  while (state.link && state.link.pending() > 0 && monotonicMs() < deadline)
    await new Promise((done) => setTimeout(done, 10))
  state.link?.disconnect()
}

const topicOf = ({ options: { versionName, token } }: State, extension: string) =>
  `kp1/${versionName}/${extension}/${token}`

async function connect(state: State) {
  const { options } = state
  try {
    const opened = await openLink({
      url: options.url,
      clientId: options.endpointId,
      onMessage: (topic, payload) =>
        void receive(state, topic, payload).catch((error) => options.onError(error.message)),
      onClose: (why) => handleClose(state, why),
    })
    if (state.stopped) return opened.disconnect()
    state.link = opened
    if (state.connectedBefore) options.statistics.count('reconnections')
    state.connectedBefore = true
    sample(state)
    if (options.reconnectEverySeconds > 0)
      state.interruption = setTimeout(interrupt, options.reconnectEverySeconds * 1000 * (0.5 + Math.random()), state)
  } catch (error) {
    options.statistics.count('errors')
    options.onError((error as Error).message)
    handleClose(state)
  }
}

function handleClose(state: State, why?: string) {
  const expected = why === undefined || why === 'dropped' || why === 'disconnected'
  if (!expected && !state.stopped) state.options.onError(why)
  state.link = undefined
  clearTimeout(state.sampling)
  clearTimeout(state.interruption)
  if (state.stopped) return
  const wait = Math.min(backOffMaxMs, backOffFirstMs * 2 ** state.failures++)
  state.retry = setTimeout(connect, wait * (0.5 + Math.random()), state)
}

/** Half of the devices send DISCONNECT, half lose the connection. */
const interrupt = ({ link }: State) => (Math.random() < 0.5 ? link?.disconnect() : link?.drop())

function sample(state: State) {
  state.sampling = setTimeout(sample, state.everyMs * (0.9 + Math.random() * 0.2), state)
  void publish(state, `${topicOf(state, 'dcx')}/json/${state.requestId++ % 100_000}`, state.world.sample(systemClock()))
}

/** Resolves to true when the message was acknowledged. */
async function publish(state: State, topic: string, body: unknown): Promise<boolean> {
  const sent = monotonicMs()
  try {
    await state.link?.publish(topic, JSON.stringify(body))
  } catch {
    return false // the connection ended, which `onClose` reports
  }
  state.failures = 0
  state.options.statistics.count('acknowledged')
  state.options.statistics.took(monotonicMs() - sent)
  return true
}

async function receive(state: State, topic: string, payload: Buffer) {
  const [, , extension = '', , ...path] = topic.split('/')
  if (path.at(-1) === 'error') return await handleError(state, payload)
  if (path.at(-1) !== 'status' || payload.length === 0) return
  const body = JSON.parse(payload.toString()) as unknown
  if (extension === 'cex' && path[0] === 'command' && path[1]) await execute(state, path[1], body)
  if ((extension === 'cmx' || extension === 'cmx_ota') && path[0] === 'config')
    await applyConfiguration(state, extension, path, body)
}

async function handleError(state: State, payload: Buffer) {
  const { statusCode, reasonPhrase } = JSON.parse(payload.toString()) as {
    statusCode?: number
    reasonPhrase?: string
  }
  state.options.statistics.count('errors')
  state.options.onError(`${statusCode} ${reasonPhrase}`)
  if (statusCode !== 401 || state.tokenRequested) return
  state.tokenRequested = true
  await state.options.onUnknownToken()
}

async function execute(state: State, type: string, commands: unknown) {
  if (!Array.isArray(commands) || commands.length === 0) return
  const results = commands.map(({ id, payload }) => ({
    id,
    statusCode: 200,
    reasonPhrase: 'done',
    payload: { type, received: payload ?? null, battery: state.world.sample(systemClock()).battery },
  }))
  if (await publish(state, `${topicOf(state, 'cex')}/result/${type}`, results))
    for (const _ of results) state.options.statistics.count('commands')
  if (type === 'reboot') state.link?.drop()
}

/** Applies a configuration. `config/json[/<name>][/<request id>]/status` is answered at `applied/json[/<name>]`. */
async function applyConfiguration(state: State, extension: string, path: string[], body: unknown) {
  const { configId, config } = (body ?? {}) as { configId?: string; config?: { reportEverySeconds?: unknown } | null }
  if (!configId) return
  const every = Number(config?.reportEverySeconds)
  if (every >= 0.01 && every <= 86_400) state.everyMs = every * 1000
  const name = path.slice(2, -1).filter((part) => !/^\d+$/.test(part))
  const report = { configId, statusCode: 200, reasonPhrase: 'applied' }
  if (await publish(state, [topicOf(state, extension), 'applied/json', ...name].join('/'), report))
    state.options.statistics.count('configurations')
}
