/** One simulated device: sends samples, answers commands, applies configurations, loses its connection now and then. */
import { monotonicMs, systemClock } from '../../kernel/clock.ts'
import { type Link, openLink } from './link.ts'
import type { Statistics } from './statistics.ts'
import { createWorld } from './world.ts'

export interface DeviceOptions {
  number: number
  url: URL
  versionName: string
  endpointId: string
  token: string
  /** Between samples; a configuration with `reportEverySeconds` changes it. */
  everySeconds: number
  /** Between reconnections on average; 0: none. */
  reconnectEverySeconds: number
  statistics: Statistics
  /** The platform said no, or is not to be reached. */
  onTrouble(what: string): void
  /** The token is not known (any more): resolves when it is. */
  onStranger(): Promise<void>
}

export interface Device {
  start(): void
  isConnected(): boolean
  /** No more samples; what was sent is acknowledged or given up after a while. */
  stop(): Promise<void>
}

const backOffFirstMs = 1000
const backOffMostMs = 30_000
const goodbyeMs = 2000

export function createDevice(options: DeviceOptions): Device {
  const { statistics, number, token } = options
  const world = createWorld(number)
  const root = (extension: string) => `kp1/${options.versionName}/${extension}/${token}`
  let everyMs = options.everySeconds * 1000
  let link: Link | undefined
  let stopped = false
  let requestId = 0
  let failures = 0
  let connectedBefore = false
  let introduced = false
  let sampling: NodeJS.Timeout | undefined
  let interruption: NodeJS.Timeout | undefined
  let retry: NodeJS.Timeout | undefined

  async function connect() {
    try {
      const opened = await openLink({
        url: options.url,
        clientId: options.endpointId,
        onMessage: (topic, payload) => void receive(topic, payload).catch((error) => options.onTrouble(error.message)),
        onClose: (why) => lost(why),
      })
      if (stopped) return opened.disconnect()
      link = opened
      if (connectedBefore) statistics.count('reconnections')
      connectedBefore = true
      sample()
      if (options.reconnectEverySeconds > 0)
        interruption = setTimeout(interrupt, options.reconnectEverySeconds * 1000 * (0.5 + Math.random()))
    } catch (error) {
      statistics.count('errors')
      options.onTrouble((error as Error).message)
      lost()
    }
  }

  function lost(why?: string) {
    const expected = why === undefined || why === 'dropped' || why === 'disconnected'
    if (!expected && !stopped) options.onTrouble(why)
    link = undefined
    clearTimeout(sampling)
    clearTimeout(interruption)
    if (stopped) return
    const wait = Math.min(backOffMostMs, backOffFirstMs * 2 ** failures++)
    retry = setTimeout(connect, wait * (0.5 + Math.random()))
  }

  /** Half of them say goodbye, half are cut off. */
  const interrupt = () => (Math.random() < 0.5 ? link?.disconnect() : link?.drop())

  function sample() {
    sampling = setTimeout(sample, everyMs * (0.9 + Math.random() * 0.2))
    void publish(`${root('dcx')}/json/${requestId++ % 100_000}`, world.sample(systemClock()))
  }

  /** True when it was acknowledged. */
  async function publish(topic: string, body: unknown): Promise<boolean> {
    const sent = monotonicMs()
    try {
      await link?.publish(topic, JSON.stringify(body))
    } catch {
      return false // the connection ended; that is told there
    }
    failures = 0
    statistics.count('acknowledged')
    statistics.took(monotonicMs() - sent)
    return true
  }

  async function receive(topic: string, payload: Buffer) {
    const [, , extension = '', , ...path] = topic.split('/')
    if (path.at(-1) === 'error') return await refused(payload)
    if (path.at(-1) !== 'status' || payload.length === 0) return
    const body = JSON.parse(payload.toString()) as unknown
    if (extension === 'cex' && path[0] === 'command' && path[1]) await obey(path[1], body)
    if ((extension === 'cmx' || extension === 'cmx_ota') && path[0] === 'config') await apply(extension, path, body)
  }

  async function refused(payload: Buffer) {
    const { statusCode, reasonPhrase } = JSON.parse(payload.toString()) as {
      statusCode?: number
      reasonPhrase?: string
    }
    statistics.count('errors')
    options.onTrouble(`${statusCode} ${reasonPhrase}`)
    if (statusCode !== 401 || introduced) return
    introduced = true
    await options.onStranger()
  }

  async function obey(type: string, commands: unknown) {
    if (!Array.isArray(commands) || commands.length === 0) return
    const results = commands.map(({ id, payload }) => ({
      id,
      statusCode: 200,
      reasonPhrase: 'done',
      payload: { type, received: payload ?? null, battery: world.sample(systemClock()).battery },
    }))
    if (await publish(`${root('cex')}/result/${type}`, results)) for (const _ of results) statistics.count('commands')
    if (type === 'reboot') link?.drop()
  }

  /** `config/json[/<name>][/<request id>]/status` is answered at `applied/json[/<name>]`. */
  async function apply(extension: string, path: string[], body: unknown) {
    const { configId, config } = (body ?? {}) as { configId?: string; config?: { reportEverySeconds?: unknown } | null }
    if (!configId) return
    const every = Number(config?.reportEverySeconds)
    if (every >= 0.01 && every <= 86_400) everyMs = every * 1000
    const name = path.slice(2, -1).filter((part) => !/^\d+$/.test(part))
    const report = { configId, statusCode: 200, reasonPhrase: 'applied' }
    if (await publish([root(extension), 'applied/json', ...name].join('/'), report)) statistics.count('configurations')
  }

  return {
    start: () => void connect(),
    isConnected: () => link !== undefined,
    async stop() {
      stopped = true
      for (const timer of [sampling, interruption, retry]) clearTimeout(timer)
      const deadline = monotonicMs() + goodbyeMs
      while (link && link.pending() > 0 && monotonicMs() < deadline) await new Promise((done) => setTimeout(done, 10))
      link?.disconnect()
    },
  }
}
