import { type Bootstrap, bootstrap, writeBootstrapFile } from '../assembly/bootstrap.ts'
import { openDatabase } from '../assembly/database.ts'
import type { Platform } from '../assembly/start.ts'
import { loadConfig } from '../config.ts'
import { isUnheardLoss } from '../kernel/db.ts'
import { collectSeldom } from '../kernel/heap.ts'
import { createLog } from '../kernel/log.ts'

const stopLimitMs = 9_500

/** Runs until a signal; what was acknowledged is finished first. */
export async function run(): Promise<number> {
  const config = loadConfig()
  const log = await createLog(config.log)
  const stopSignal = nextSignal()
  process.on('unhandledRejection', (error) => {
    if (!isUnheardLoss(error)) throw error
    log.warn({ err: error }, 'a connection to the database broke while it was opened')
  })
  let platform: Platform
  try {
    // The services are read from disk while the database comes up.
    const opening = openDatabase(config, log)
    opening.catch(() => {}) // startPlatform awaits it and tells; until then nobody does
    const { startPlatform } = await import('../assembly/start.ts').catch(async (error) => {
      await (await opening).stop()
      throw error
    })
    platform = await startPlatform(config, log, opening)
  } catch (error) {
    log.debug({ err: error }, 'start failed')
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
    return 1
  }
  collectSeldom()
  const { baseUrl, managementUrl, addresses, house } = platform
  const tellFirstThings = (firstThings: Bootstrap) =>
    writeBootstrapFile(config.dataDirectory, { baseUrl, ...addresses, managementUrl, ...firstThings })
  const file = tellFirstThings(platform.bootstrap)
  // A restore beneath us brings other credentials.
  const tellAgain = async () => void tellFirstThings(await bootstrap(house))
  house.onGap(tellAgain)
  house.onFirstThings(
    () => void tellAgain().catch((error) => log.error({ err: error }, 'bootstrap.json is not current')),
  )
  log.info(`Waypost serves at ${baseUrl}  (API reference ${baseUrl}/docs, health ${managementUrl}/health/ready)`)
  const doors = Object.values(addresses)
  if (doors.length > 0) log.info(`Devices connect to ${doors.join(', ')} and ${baseUrl}/kp1/…`)
  log.info(`First credentials are in ${file}`)

  log.info(`${await stopSignal}: stopping`)
  process.on('SIGINT', () => process.exit(130)) // a second Ctrl-C does not wait
  const overdue = setTimeout(() => {
    log.error('stopping took too long; what was not acknowledged is given up')
    process.exit(1)
  }, stopLimitMs)
  await platform.stop()
  clearTimeout(overdue)
  log.info('stopped')
  // The driver may open a connection again that broke, when its pool has ended already: nothing waits for it.
  setTimeout(() => process.exit(0), 500).unref()
  return 0
}

const nextSignal = () =>
  new Promise<string>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, () => resolve(signal))
  })
