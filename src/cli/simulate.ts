import { loadConfig } from '../config.ts'
import { monotonicMs, sleep } from '../kernel/clock.ts'
import { readBootstrap } from './bootstrap-file.ts'
import { countText, print } from './output.ts'
import { createDevice, type Device } from './simulate/device.ts'
import { OptionError, readOptions, type SimulateOptions, usage } from './simulate/options.ts'
import { prepare, SimulationError } from './simulate/platform.ts'
import { createStatistics, totalsText } from './simulate/statistics.ts'
import { listenForStop } from './stop-request.ts'

export { usage }

const lineEveryMs = 5000
/** Number of connections that are started in each tenth of a second. */
const startsPerBatch = 50

/** Runs simulated devices until a signal arrives. */
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
  if (!address) throw new SimulationError('bootstrap.json has no MQTT address; give one with --url')
  const { versionName, endpoints, createToken } = await prepare(bootstrap, options)
  print(
    `${countText(options.devices, 'device')} of ${versionName} connect to ${address.protocol}//${address.host}, ` +
      `${options.rate} messages/s each. Ctrl-C stops.`,
  )

  const statistics = createStatistics()
  const printError = errorPrinter()
  const devices = endpoints.map((endpoint, index) =>
    createDevice({
      number: index + 1,
      url: address,
      httpUrl: bootstrap.baseUrl,
      versionName,
      ...endpoint,
      everySeconds: 1 / options.rate,
      reconnectEverySeconds: options.reconnectEverySeconds,
      failPercent: options.failPercent,
      slowSeconds: options.slowSeconds,
      software: options.software,
      statistics,
      onError: (what) => printError(`${endpoint.endpointId}: `, what),
      onUnknownToken: () => createToken(endpoint),
    }),
  )
  let running = true
  const ended = Promise.race([
    stopSignal,
    ...(options.seconds === undefined ? [] : [sleep(options.seconds * 1000)]),
  ]).then(() => {
    running = false
  })
  const starting = startInBatches(devices, () => running)

  const connected = () => devices.filter((device) => device.isConnected()).length
  let since = monotonicMs()
  const lines = setInterval(() => {
    const now = monotonicMs()
    print(statistics.line(connected(), devices.length, (now - since) / 1000))
    since = now
  }, lineEveryMs)
  await ended
  clearInterval(lines)
  await starting
  await Promise.all(devices.map((device) => device.stop()))
  print(`Stopped: ${totalsText(statistics.totals())}.`)
}

async function startInBatches(devices: Device[], isRunning: () => boolean) {
  for (let from = 0; from < devices.length && isRunning(); from += startsPerBatch) {
    for (const device of devices.slice(from, from + startsPerBatch)) device.start()
    if (from + startsPerBatch < devices.length) await sleep(100)
  }
}

/** Prints errors of devices. An error that many devices share is printed once, until a different error occurs. */
function errorPrinter() {
  let last = ''
  return (prefix: string, text: string) => {
    if (text === last) return
    last = text
    process.stderr.write(`waypost: ${prefix}${text}\n`)
  }
}
