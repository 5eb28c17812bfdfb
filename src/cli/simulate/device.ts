/** One simulated device: sends samples, answers commands, applies configurations, installs software and sometimes loses its connection. */
import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs, systemClock } from '../../kernel/clock.ts'
import { download } from './download.ts'
import { type Link, openLink } from './link.ts'
import { createMeasurements, type Measurements } from './measurements.ts'
import type { Statistics } from './statistics.ts'

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
  /** Share of commands and software updates that fail, in percent. */
  failPercent: number
  /** Average time that a command or a software update takes. */
  slowSeconds: number
  /** Software version that the device reports when it starts. */
  software: string | undefined
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
const simulatedFailure = 'simulated failure'

/** The state of one device. */
interface State {
  options: DeviceOptions
  measurements: Measurements
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
  /** Commands and software versions that the device works on. It gets them again when it reconnects meanwhile. */
  inProgress: Set<string>
  softwareReported: boolean
  /** Aborts downloads and delays when the device stops. */
  stopping: AbortController
}

export function createDevice(options: DeviceOptions): Device {
  const state: State = {
    options,
    measurements: createMeasurements(options.number),
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
    inProgress: new Set(),
    softwareReported: false,
    stopping: new AbortController(),
  }
  return {
    start: () => void connect(state),
    isConnected: () => state.link !== undefined,
    stop: () => stop(state),
  }
}

async function stop(state: State) {
  state.stopped = true
  state.stopping.abort()
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
    void reportSoftware(state)
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
  void publish(
    state,
    `${topicOf(state, 'dcx')}/json/${state.requestId++ % 100_000}`,
    state.measurements.sample(systemClock()),
  )
}

/** Resolves to true when the message was acknowledged. */
async function publish(state: State, topic: string, body: unknown): Promise<boolean> {
  const sent = monotonicMs()
  if (!state.link) return false
  try {
    await state.link.publish(topic, JSON.stringify(body))
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
  if (extension === 'cmx' && path[0] === 'config') await applyConfiguration(state, path, body)
  if (extension === 'cmx_ota' && path[0] === 'config') await install(state, body)
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

const hasFailed = ({ options }: State) => Math.random() * 100 < options.failPercent

/** Waits as long as a command or an update takes; returns false if the device stops meanwhile. */
async function work({ options, stopping: { signal } }: State): Promise<boolean> {
  if (options.slowSeconds === 0) return true
  const duration = options.slowSeconds * 1000 * (0.5 + Math.random())
  return await delay(duration, true, { signal }).catch(() => false)
}

/** Runs a task and marks what the device works on meanwhile. */
async function whileInProgress(state: State, keys: string[], task: () => Promise<void>) {
  for (const key of keys) state.inProgress.add(key)
  try {
    await task()
  } finally {
    for (const key of keys) state.inProgress.delete(key)
  }
}

async function execute(state: State, type: string, commands: unknown) {
  if (!Array.isArray(commands)) return
  const keyOf = ({ id }: { id: number }) => `command ${id}`
  const fresh = commands.filter((command) => !state.inProgress.has(keyOf(command)))
  if (fresh.length > 0) await whileInProgress(state, fresh.map(keyOf), () => answer(state, type, fresh))
}

async function answer(state: State, type: string, commands: { id: number; payload?: unknown }[]) {
  if (!(await work(state))) return
  const results = commands.map(({ id, payload }) =>
    hasFailed(state)
      ? { id, statusCode: 500, reasonPhrase: simulatedFailure }
      : {
          id,
          statusCode: 200,
          reasonPhrase: 'done',
          payload: { type, received: payload ?? null, battery: state.measurements.sample(systemClock()).battery },
        },
  )
  if (await publish(state, `${topicOf(state, 'cex')}/result/${type}`, results))
    for (const _ of results) state.options.statistics.count('commands')
  if (type === 'reboot') state.link?.drop()
}

/** Applies a configuration. `config/json[/<name>][/<request id>]/status` is answered at `applied/json[/<name>]`. */
async function applyConfiguration(state: State, path: string[], body: unknown) {
  const { configId, config } = (body ?? {}) as { configId?: string; config?: { reportEverySeconds?: unknown } | null }
  if (!configId) return
  const every = Number(config?.reportEverySeconds)
  if (every >= 0.01 && every <= 86_400) state.everyMs = every * 1000
  const name = path.slice(2, -1).filter((part) => !/^\d+$/.test(part))
  const report = { configId, statusCode: 200, reasonPhrase: 'applied' }
  if (await publish(state, [topicOf(state, 'cmx'), 'applied/json', ...name].join('/'), report))
    state.options.statistics.count('configurations')
}

const reportInstalled = (state: State, report: { configId: string; statusCode: number; reasonPhrase: string }) =>
  publish(state, `${topicOf(state, 'cmx_ota')}/applied/json`, report)

/** Reports the version that the device starts with, once: the platform offers software only to devices whose version it knows. */
async function reportSoftware(state: State) {
  const { software } = state.options
  if (software === undefined || state.softwareReported) return
  state.softwareReported = await reportInstalled(state, {
    configId: software,
    statusCode: 200,
    reasonPhrase: 'installed',
  })
}

/** Installs the software that the device is offered: downloads its file, if it has one, and reports the outcome. */
async function install(state: State, body: unknown) {
  const { configId, config } = (body ?? {}) as { configId?: string; config?: { link?: unknown } | null }
  const key = `software ${configId}`
  if (!configId || state.inProgress.has(key)) return
  await whileInProgress(state, [key], async () => {
    const failure = await installationFailure(state, config?.link)
    if (state.stopped) return
    const report = failure ? { statusCode: 500, reasonPhrase: failure } : { statusCode: 200, reasonPhrase: 'installed' }
    if ((await reportInstalled(state, { configId, ...report })) && !failure) state.options.statistics.count('updates')
  })
}

/** Returns why the installation failed; undefined if it did not. */
async function installationFailure(state: State, link: unknown): Promise<string | undefined> {
  try {
    if (typeof link === 'string') await download(link, state.stopping.signal)
  } catch (error) {
    return (error as Error).message
  }
  await work(state)
  return hasFailed(state) ? simulatedFailure : undefined
}
