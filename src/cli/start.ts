import { type Bootstrap, bootstrap, firstLink, writeBootstrapFile } from '../assembly/bootstrap.ts'
import { type Database, openDatabase } from '../assembly/database.ts'
import type { Platform } from '../assembly/start.ts'
import { type Config, loadConfig } from '../config.ts'
import { sleep } from '../kernel/clock.ts'
import { collectGarbageOfStart, tuneGarbageCollection } from '../kernel/heap.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { bootstrapWriteFailed, firstLinkFailed, natsNotUsed, stopTimedOut } from './log-messages.ts'
import { listenForStop, type StopRequest } from './stop-request.ts'

const stopLimitMs = 9_500
/** A start that still waits for a lock or a server is abandoned this long after the signal to stop. */
const abortLimitMs = 1_000

/** Runs the platform until a signal arrives. Work in progress is finished before the exit. */
export async function run(): Promise<number> {
  const stop = listenForStop()
  const config = loadConfig()
  const log = await createLog(config.log)
  // The exit is explicit, because an open timer or connection must not keep the process alive. Also, when a process ends on its own, Node
  // removes its signal handlers, and a repeated signal would then kill it.
  process.exit(await runPlatform(config, log, stop))
}

async function runPlatform(config: Config, log: Log, stop: StopRequest): Promise<number> {
  const opening = openDatabase(config, log)
  opening.catch(() => {}) // startPlatform awaits this promise and reports its error.
  const aborted = stop.received.then(() => sleep(abortLimitMs)).then(() => undefined)
  let platform: Platform | undefined
  try {
    platform = await Promise.race([start(config, log, opening, stop.signal), aborted])
  } catch (error) {
    if (error === stop.signal.reason) return await abandonStart(log, opening, stop)
    log.debug({ err: error }, 'start failed')
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
    return 1
  }
  if (!platform) return await abandonStart(log, opening, stop)
  tuneGarbageCollection()
  if (config.natsUrl !== undefined) natsNotUsed(log)
  announce(config, log, platform)
  if (platform.isFirst) await printFirstLink(log, platform)
  void collectGarbageOfStart()
  log.info(`${await stop.received}: stopping`)
  await withinLimit(log, platform.stop())
  log.info('stopped')
  return 0
}

/** Starts the platform. The services are loaded from disk while the database starts. */
async function start(config: Config, log: Log, opening: Promise<Database>, signal: AbortSignal): Promise<Platform> {
  const { startPlatform } = await import('../assembly/start.ts').catch(async (error) => {
    await (await opening).stop()
    throw error
  })
  return await startPlatform(config, log, opening, signal)
}

/** Ends an interrupted start. Nothing has been acknowledged yet, so closing the database is enough. */
async function abandonStart(log: Log, opening: Promise<Database>, stop: StopRequest): Promise<number> {
  log.info(`${await stop.received}: stopping before the start is complete`)
  const closing = opening.then(
    (database) => database.stop(),
    () => {}, // The database was never opened.
  )
  await withinLimit(log, closing)
  return 0
}

/** Exits with status 1 if stopping takes too long. */
async function withinLimit(log: Log, stopping: Promise<void>) {
  const exitTimer = setTimeout(() => {
    stopTimedOut(log)
    process.exit(1)
  }, stopLimitMs)
  await stopping
  clearTimeout(exitTimer)
}

/**
 * Prints the link of the first start for the person at the terminal. It is not logged. On a terminal it goes to standard output, otherwise
 * to standard error, so that the log contains only lines of JSON.
 */
async function printFirstLink(log: Log, { platformServices, baseUrl }: Platform) {
  try {
    const link = await firstLink(platformServices, baseUrl)
    if (link === undefined) return
    const output = process.stdout.isTTY ? process.stdout : process.stderr
    output.write(
      `\n  Open this link to choose your password. The link works once, for 15 minutes:\n\n  ${link}\n\n` +
        '  Later: bin/waypost user link admin prints another link.\n\n',
    )
  } catch (error) {
    // The platform runs nevertheless, and bootstrap.json contains the first password.
    firstLinkFailed(log, { err: error })
  }
}

/** Writes bootstrap.json, updates it when its content changes, and logs the addresses. */
function announce(
  config: Config,
  log: Log,
  { baseUrl, managementUrl, addresses, platformServices, bootstrap: first }: Platform,
) {
  const write = (credentials: Bootstrap) =>
    writeBootstrapFile(config.dataDirectory, { baseUrl, ...addresses, managementUrl, ...credentials })
  const file = write(first)
  const writeAgain = async () => void write(await bootstrap(platformServices))
  platformServices.onReset(writeAgain) // A restore changes the credentials.
  platformServices.onBootstrapChange(
    () => void writeAgain().catch((error) => bootstrapWriteFailed(log, { err: error })),
  )
  log.info(`Waypost serves at ${baseUrl}  (API reference ${baseUrl}/docs, health ${managementUrl}/health/ready)`)
  const { httpUrl: _httpUrl, httpsUrl: _httpsUrl, ...devices } = addresses
  const apis = Object.values(devices)
  if (apis.length > 0) log.info(`Devices connect to ${apis.join(', ')} and ${baseUrl}/kp1/…`)
  log.info(`First credentials are in ${file}`)
}
