import { loadConfig } from '../config.ts'
import { monotonicMs, sleep } from '../kernel/clock.ts'
import { amount, tell } from './sentences.ts'
import { createDevice, type Device } from './simulate/device.ts'
import { OptionError, readOptions, type SimulateOptions, usage } from './simulate/options.ts'
import { prepare, readBootstrap, SimulationError } from './simulate/platform.ts'
import { createStatistics, totalsText } from './simulate/statistics.ts'
import { listenForStop } from './stop-request.ts'

export { usage }

const lineEveryMs = 5000
/** Connections begun in a tenth of a second. */
const startsAtOnce = 50

/** Simulated devices until a signal comes. */
export async function run(args: string[]): Promise<number> {
  const stopSignal = listenForStop().received
  try {
    await simulate(readOptions(args), stopSignal)
    return 0
  } catch (error) {
    if (!(error instanceof OptionError) && !(error instanceof SimulationError)) throw error
    process.stderr.write(`waypost: ${error.message}\n${error instanceof OptionError ? `\n${usage}` : ''}`)
    return error instanceof OptionError ? 2 : 1
  }
}

async function simulate(options: SimulateOptions, stopSignal: Promise<unknown>) {
  const bootstrap = readBootstrap(loadConfig().dataDirectory)
  const address = options.url ?? (bootstrap.mqttUrl ? new URL(bootstrap.mqttUrl) : undefined)
  if (!address) throw new SimulationError('bootstrap.json names no MQTT address; give one with --url')
  const { versionName, endpoints, introduce } = await prepare(bootstrap, options.application, options.devices)
  tell(
    `${amount(options.devices, 'device')} of ${versionName} connect to ${address.protocol}//${address.host}, ` +
      `${options.rate} messages/s each. Ctrl-C stops.`,
  )

  const statistics = createStatistics()
  const troubles = onceEach()
  const devices = endpoints.map((endpoint, index) =>
    createDevice({
      number: index + 1,
      url: address,
      versionName,
      ...endpoint,
      everySeconds: 1 / options.rate,
      reconnectEverySeconds: options.reconnectEverySeconds,
      statistics,
      onTrouble: (what) => troubles(`${endpoint.endpointId}: `, what),
      onStranger: () => introduce(endpoint),
    }),
  )
  let running = true
  const ended = Promise.race([
    stopSignal,
    ...(options.seconds === undefined ? [] : [sleep(options.seconds * 1000)]),
  ]).then(() => {
    running = false
  })
  const starting = startGently(devices, () => running)

  const connected = () => devices.filter((device) => device.isConnected()).length
  let since = monotonicMs()
  const lines = setInterval(() => {
    const now = monotonicMs()
    tell(statistics.line(connected(), devices.length, (now - since) / 1000))
    since = now
  }, lineEveryMs)
  await ended
  clearInterval(lines)
  await starting
  await Promise.all(devices.map((device) => device.stop()))
  tell(`Stopped: ${totalsText(statistics.totals())}.`)
}

async function startGently(devices: Device[], goOn: () => boolean) {
  for (let from = 0; from < devices.length && goOn(); from += startsAtOnce) {
    for (const device of devices.slice(from, from + startsAtOnce)) device.start()
    if (from + startsAtOnce < devices.length) await sleep(100)
  }
}

/** The same trouble of many devices is said once, until another comes. */
function onceEach() {
  let last = ''
  return (who: string, what: string) => {
    if (what === last) return
    last = what
    process.stderr.write(`waypost: ${who}${what}\n`)
  }
}
