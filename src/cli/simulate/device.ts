/** A simulated device. It sends samples, answers commands, applies configurations, installs software and sometimes loses its connection. */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Command,
  type Configuration,
  connect,
  type Report,
  type Device as SdkDevice,
  type Software,
  type SoftwareFile,
  type WaypostError,
} from '../../../sdk/src/device/index.ts'
import { monotonicMs, sleep, systemClock } from '../../kernel/clock.ts'
import { createMeasurements, type Measurements } from './measurements.ts'
import { connectMqtt, type SimulatedClient } from './mqtt-client.ts'
import type { Statistics } from './statistics.ts'

export interface DeviceOptions {
  number: number
  url: URL
  /** Address of the platform, for downloads of software files. */
  httpUrl: string
  versionName: string
  endpointId: string
  token: string
  /** Interval of samples. A configuration with `reportEverySeconds` changes it. */
  everySeconds: number
  /** Average interval of reconnections; 0 means none. */
  reconnectEverySeconds: number
  /** Percentage of commands and software updates that fail. */
  failPercent: number
  /** Average time that a command or a software update takes. */
  slowSeconds: number
  /** Software version that the device reports when it starts. */
  software: string | undefined
  statistics: Statistics
  /** Called when the platform rejects something or cannot be reached. */
  onError(what: string): void
  /** Called when the platform rejects the token as unknown. Resolves when the token exists. */
  onUnknownToken(): Promise<void>
}

export interface Device {
  start(): void
  isConnected(): boolean
  /** Stops sending samples, and waits a moment for acknowledgements. */
  stop(): Promise<void>
}

const drainMs = 2000
const simulatedFailure = 'simulated failure'

interface State {
  options: DeviceOptions
  measurements: Measurements
  everyMs: number
  device: SdkDevice | undefined
  client: SimulatedClient | undefined
  /** True from the time at which the simulator interrupts the connection until the device is connected again. */
  interrupted: boolean
  connections: number
  tokenRequested: boolean
  sampling: NodeJS.Timeout | undefined
  interruption: NodeJS.Timeout | undefined
  /** Aborts delays when the device stops. */
  stopping: AbortController
}

export function createDevice(options: DeviceOptions): Device {
  const state: State = {
    options,
    measurements: createMeasurements(options.number),
    everyMs: options.everySeconds * 1000,
    device: undefined,
    client: undefined,
    interrupted: false,
    connections: 0,
    tokenRequested: false,
    sampling: undefined,
    interruption: undefined,
    stopping: new AbortController(),
  }
  return {
    start: () => void start(state),
    isConnected: () => state.device?.connected === true,
    stop: () => stop(state),
  }
}

async function start(state: State) {
  const { url, httpUrl, versionName, token, endpointId, software } = state.options
  const device = await connect({
    url: `${url.protocol}//${url.host}`,
    httpUrl,
    version: versionName,
    token,
    clientId: endpointId,
    ...(url.username !== '' && { username: decodeURIComponent(url.username) }),
    ...(url.password !== '' && { password: decodeURIComponent(url.password) }),
    mqtt: {
      connect(address, options) {
        state.client = connectMqtt(address, options)
        return state.client
      },
    },
    // The measurements of the simulator contain their own times.
    stampSamples: false,
    onConnected: () => handleConnected(state),
    onOffline: (error) => handleOffline(state, error),
    onError: (error) => handleError(state, error),
    onCommand: (command) => execute(state, command),
    onConfiguration: (configuration) => applyConfiguration(state, configuration),
    onSoftware: (offered) => install(state, offered),
    onReported: (report) => handleReport(state, report),
  })
  state.device = device
  // The platform offers software only to devices that have reported their version.
  if (software !== undefined) await device.reportSoftware(software).catch((error) => handleError(state, error))
}

async function stop(state: State) {
  const { device } = state
  state.stopping.abort()
  clearTimeout(state.sampling)
  clearTimeout(state.interruption)
  const deadline = monotonicMs() + drainMs
  while (device?.connected && device.pending > 0 && monotonicMs() < deadline) await sleep(10)
  await device?.close()
}

const hasStopped = ({ stopping }: State) => stopping.signal.aborted

function handleConnected(state: State) {
  const { statistics, reconnectEverySeconds } = state.options
  if (state.connections++ > 0) statistics.count('reconnections')
  state.interrupted = false
  if (hasStopped(state)) return
  sample(state)
  if (reconnectEverySeconds > 0)
    state.interruption = setTimeout(interrupt, reconnectEverySeconds * 1000 * (0.5 + Math.random()), state)
}

function handleOffline(state: State, error: WaypostError) {
  clearTimeout(state.sampling)
  clearTimeout(state.interruption)
  if (hasStopped(state) || state.interrupted) return
  if (error.code !== 'interrupted') state.options.statistics.count('errors')
  state.options.onError(error.message)
}

/** Interrupts the connection. Half of the devices send DISCONNECT; the other half close the connection without DISCONNECT. */
function interrupt(state: State) {
  state.interrupted = true
  if (Math.random() < 0.5) state.client?.disconnect()
  else state.client?.drop()
}

function sample(state: State) {
  state.sampling = setTimeout(sample, state.everyMs * (0.9 + Math.random() * 0.2), state)
  void sendSample(state)
}

async function sendSample(state: State) {
  const { device, options, connections } = state
  const sentMs = monotonicMs()
  try {
    await device?.sample({ ...state.measurements.sample(systemClock()) })
    options.statistics.count('acknowledged')
    // If the device reconnected while the message waited, the duration includes the reconnection and is not counted.
    if (connections === state.connections) options.statistics.took(monotonicMs() - sentMs)
  } catch (error) {
    handleError(state, error)
  }
}

/** Handles a message that the platform has rejected. */
function handleError(state: State, error: unknown) {
  const { statistics, onError, onUnknownToken } = state.options
  const { status, code, message } = error as WaypostError
  if (hasStopped(state) && (code === 'aborted' || code === 'interrupted')) return
  statistics.count('errors')
  onError(status === undefined ? message : `${status} ${message}`)
  if (status !== 401 || state.tokenRequested) return
  state.tokenRequested = true
  onUnknownToken().catch((failure) => onError(failure.message))
}

const hasFailed = ({ options }: State) => Math.random() * 100 < options.failPercent

/** Simulates the work of a command or an update: takes the time that the options define, and fails as often as they define. */
async function work(state: State) {
  const {
    options,
    stopping: { signal },
  } = state
  if (options.slowSeconds > 0) {
    const ms = options.slowSeconds * 1000 * (0.5 + Math.random())
    // A device that stops meanwhile reports no outcome.
    await delay(ms, undefined, { signal }).catch(() => new Promise(() => {}))
  }
  if (hasFailed(state)) throw new Error(simulatedFailure)
}

async function execute(state: State, { type, payload }: Command) {
  await work(state)
  return { type, received: payload ?? null, battery: state.measurements.sample(systemClock()).battery }
}

function applyConfiguration(state: State, { config }: Configuration) {
  const every = Number((config as { reportEverySeconds?: unknown } | null)?.reportEverySeconds)
  if (every >= 0.01 && every <= 86_400) state.everyMs = every * 1000
}

/** Downloads the file of the software, if there is one, and compares it with its digest. */
async function install(state: State, { config, download }: Software) {
  if (typeof config?.link === 'string') await checkFile(await download())
  await work(state)
}

/** Reads a file to its end. Rejects if it does not match the digest that the platform sent. */
export async function checkFile(file: SoftwareFile) {
  const hash = createHash('sha256')
  for await (const bytes of file) hash.update(bytes)
  if (file.digest !== undefined && file.digest !== `sha-256=:${hash.digest('base64')}:`)
    throw new Error('the download does not match its digest')
}

function handleReport(state: State, { kind, name, statusCode }: Report) {
  const { statistics } = state.options
  if (kind === 'command') statistics.count('commands')
  else if (kind === 'configuration') statistics.count('configurations')
  else if (statusCode === 200) statistics.count('updates')
  if (kind !== 'command' || name !== 'reboot') return
  state.interrupted = true
  state.client?.drop()
}
