/** Checks everything that a start needs, and gives advice about problems. It changes no data. */
import { accessSync, constants, existsSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { gatewaySettings } from '../gateway/settings.ts'
import { readApplied } from '../kernel/backup/inventory.ts'
import { systemClock } from '../kernel/clock.ts'
import { connect, type Pool } from '../kernel/db.ts'
import { checkBinaries } from '../kernel/embedded-postgres/check.ts'
import type { HealthReport } from '../kernel/health.ts'
import { httpsSettings } from '../kernel/http/settings.ts'
import type { Log } from '../kernel/log.ts'
import { type Migration, readMigrations } from '../kernel/migrate.ts'
import { loadMasterKey, RotationUnderWay, readDataKey } from '../kernel/secrets.ts'
import { migrationSources } from './build.ts'
import { connectDatabase } from './database.ts'

export interface Finding {
  /** `warning` means that the platform works, but may fail or become slower later. */
  state: 'ok' | 'warning' | 'error'
  text: string
  /** The advice for the operator. */
  todo?: string
}

const ok = (text: string): Finding => ({ state: 'ok', text })
const warning = (text: string, todo: string): Finding => ({ state: 'warning', text, todo })
const problem = (text: string, todo: string): Finding => ({ state: 'error', text, todo })
const reasonOf = (cause: unknown) => (cause as Error).message || String((cause as { code?: unknown }).code ?? cause)

const nodeMajorMin = 24
const postgresMin = 15

export async function* examine(config: Config, log: Log): AsyncGenerator<Finding> {
  yield checkRuntime()
  yield checkDataDirectory(config.dataDirectory)
  yield checkDisk(config.dataDirectory)
  yield* checkSecretFiles(config.dataDirectory)
  const running = await findRunning(config)
  yield* reportRunning(running)
  yield await checkPort('WAYPOST_PORT', config.host, config.port, running?.httpUrl ?? running?.baseUrl)
  const { port: httpsPort } = config.read(httpsSettings)
  if (httpsPort !== undefined) yield await checkPort('WAYPOST_HTTPS_PORT', config.host, httpsPort, running?.httpsUrl)
  yield await checkPort('WAYPOST_MQTT_PORT', config.host, config.read(gatewaySettings).mqttPort, running?.mqttUrl)
  yield await checkPort('WAYPOST_MQTTS_PORT', config.host, config.read(gatewaySettings).mqttsPort, running?.mqttsUrl)
  yield await checkPort('WAYPOST_MANAGEMENT_PORT', '127.0.0.1', config.managementPort, running?.managementUrl)
  if (!config.databaseUrl) {
    const programs = checkPrograms(config)
    yield programs
    if (programs.state === 'error') return
    if (!existsSync(join(config.dataDirectory, 'postgres'))) {
      yield ok('There is no database yet: the first start creates it')
      return
    }
  }
  yield* checkDatabase(config, log)
}

function checkRuntime(): Finding {
  const { node } = process.versions
  if (Number.parseInt(node, 10) >= nodeMajorMin) return ok(`Node.js ${node}`)
  return problem(
    `Node.js ${node} is too old`,
    `Start Waypost with bin/waypost or npm, which include Node.js ${nodeMajorMin}`,
  )
}

function checkDataDirectory(directory: string): Finding {
  const status = statSync(directory, { throwIfNoEntry: false })
  if (!status) {
    const parent = existingParent(directory)
    return isWritable(parent)
      ? ok(`The data directory ${directory} will be created`)
      : problem(
          `The data directory ${directory} cannot be created`,
          `Create it, or set WAYPOST_DATA to another directory: ${parent} is not writable`,
        )
  }
  if (!status.isDirectory()) return problem(`${directory} is not a directory`, 'Set WAYPOST_DATA to a directory')
  if (!isWritable(directory))
    return problem(
      `The data directory ${directory} is not writable`,
      `Run as its owner (uid ${status.uid}), or chown it`,
    )
  const ownUid = process.getuid?.()
  if (ownUid !== undefined && ownUid !== 0 && status.uid !== ownUid)
    return problem(`The data directory ${directory} belongs to uid ${status.uid}`, 'Run as that user, or chown it')
  if (status.mode & 0o022)
    return warning(`Other users can write to the data directory ${directory}`, `chmod 700 ${directory}`)
  return ok(`The data directory ${directory} is writable and belongs to this user`)
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

const existingParent = (path: string): string => (existsSync(path) ? path : existingParent(dirname(path)))

function checkDisk(directory: string): Finding {
  const path = existingParent(directory)
  const { bavail, bsize } = statfsSync(path)
  const gigabytes = (bavail * bsize) / 1e9
  const freeSpaceText = `${gigabytes.toFixed(1)} GB are free at ${path}`
  if (gigabytes < 0.1) return problem(freeSpaceText, 'Free some space: PostgreSQL stops when the disk is full')
  return gigabytes < 1
    ? warning(freeSpaceText, 'Free some space, or move the data directory (WAYPOST_DATA)')
    : ok(freeSpaceText)
}

function* checkSecretFiles(directory: string): Generator<Finding> {
  const secrets = { 'bootstrap.json': 'the first passwords', 'keys/master.key': 'the key that opens all secrets' }
  for (const [name, content] of Object.entries(secrets)) {
    const file = join(directory, name)
    const mode = (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
    if (mode & 0o077) yield problem(`Other users can read ${file}, which contains ${content}`, `chmod 600 ${file}`)
    else if (mode) yield ok(`Other users cannot read ${name}`)
  }
}

interface Running {
  baseUrl: string
  httpUrl?: string
  httpsUrl?: string
  mqttUrl?: string
  mqttsUrl?: string
  managementUrl: string
  health: HealthReport
}

/** Returns the running platform of this data directory, if a platform answers at the address in bootstrap.json. */
async function findRunning(config: Config): Promise<Running | undefined> {
  try {
    const addresses = JSON.parse(readFileSync(join(config.dataDirectory, 'bootstrap.json'), 'utf8')) as Running
    const answer = await fetch(`${addresses.managementUrl}/health/ready`, { signal: AbortSignal.timeout(3000) })
    const health = (await answer.json()) as HealthReport
    return Array.isArray(health.checks) ? { ...addresses, health } : undefined
  } catch {
    return undefined
  }
}

function* reportRunning(running: Running | undefined): Generator<Finding> {
  if (!running) yield ok('No platform with this data directory is running')
  else if (running.health.status === 'ready') yield ok(`The platform runs at ${running.baseUrl} and is ready`)
  else {
    const problems = running.health.checks.filter(({ ok }) => !ok).map(({ name, problem }) => `${name}: ${problem}`)
    const reason = problems.join('; ') || running.health.status
    yield problem(`The platform at ${running.baseUrl} is not ready (${reason})`, 'Look at its log')
  }
}

async function checkPort(setting: string, host: string, port: number, ownUrl: string | undefined): Promise<Finding> {
  if (port === 0) return ok(`${setting} uses any free port`)
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
  if (!failure) return ok(`Port ${port} (${setting}) is free`)
  if (failure.code !== 'EADDRINUSE')
    return problem(
      `Port ${port} at ${host} cannot be opened: ${failure.message}`,
      `Choose another ${setting} or WAYPOST_HOST`,
    )
  if (ownUrl && portOf(ownUrl) === port) return ok(`Port ${port} (${setting}) is in use by this platform`)
  return problem(`Port ${port} is in use by another program`, `Choose another ${setting}, or stop that program`)
}

const portOf = (url: string) => Number(new URL(url).port)

function checkPrograms(config: Config): Finding {
  try {
    return ok(`The embedded PostgreSQL can be run: ${checkBinaries(join(config.dataDirectory, 'postgres'))}`)
  } catch (error) {
    return problem(
      `The embedded PostgreSQL cannot be run: ${reasonOf(error)}`,
      'Run npm install again, or set WAYPOST_DATABASE_URL to a server of your own',
    )
  }
}

async function* checkDatabase(config: Config, log: Log): AsyncGenerator<Finding> {
  const advice = config.databaseUrl ? 'Check WAYPOST_DATABASE_URL and the server' : 'Look at the reason above'
  let database: Awaited<ReturnType<typeof connectDatabase>>
  try {
    database = await connectDatabase(config, log)
  } catch (error) {
    yield problem(`The database cannot be started: ${reasonOf(error)}`, advice)
    return
  }
  const pool = connect(database.connection, { max: 1, translate: false, name: 'waypost-doctor' })
  try {
    const before = systemClock().getTime()
    const [server] = await pool`
      select current_setting('server_version') as version, current_setting('server_version_num')::int / 10000 as major,
        extract(epoch from clock_timestamp())::float8 * 1000 as ms, current_user as role,
        (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser"`
    const after = systemClock().getTime()
    if (server!.major < postgresMin)
      yield problem(`PostgreSQL ${server!.version} is too old`, `Use PostgreSQL ${postgresMin} or newer`)
    else yield ok(`The database answers: PostgreSQL ${server!.version}`)
    if (server!.isSuperuser)
      yield warning(
        `The platform connects as ${server!.role}, a superuser of the database`,
        config.databaseUrl
          ? 'Create a role without superuser that owns the database, and use it in WAYPOST_DATABASE_URL (SECURITY.md)'
          : 'Start the platform once: it gives the database to a role of its own',
      )
    yield checkClocks(server!.ms - (before + after) / 2, (after - before) / 2)
    const { catalogue } = await import('./catalogue.ts')
    yield* checkMigrations(await readApplied(pool), readMigrations(migrationSources(catalogue)))
    yield* checkMasterKey(config, pool)
  } catch (error) {
    yield problem(`The database does not answer: ${reasonOf(error)}`, advice)
  } finally {
    await pool.end({ timeout: 2 })
    await database.stop()
  }
}

function checkClocks(differenceMs: number, uncertaintyMs: number): Finding {
  const certainDifferenceMs = Math.max(0, Math.abs(differenceMs) - uncertaintyMs)
  if (certainDifferenceMs < 1000) return ok('The clocks of the database and of this machine agree')
  return warning(
    `The clocks of the database and of this machine are ${(certainDifferenceMs / 1000).toFixed(1)} s apart`,
    'Synchronize both with NTP',
  )
}

function* checkMigrations(
  applied: Awaited<ReturnType<typeof readApplied>>,
  migrations: Migration[],
): Generator<Finding> {
  const checksums = new Map(
    migrations.map((migration) => [`${migration.module}/${migration.name}`, migration.checksum]),
  )
  for (const { module, name, checksum } of applied) {
    const programChecksum = checksums.get(`${module}/${name}`)
    if (programChecksum === checksum) continue
    if (programChecksum === undefined)
      yield problem(`The database has ${module}/${name}, which this version does not know`, 'Use the newer Waypost')
    else
      yield problem(`${module}/${name} differs from the applied migration`, 'Use the Waypost version that applied it')
    return
  }
  if (applied.length === migrations.length) yield ok('The database schema is the schema of this version')
  else if (applied.length === 0) yield ok('The database is empty: the first start creates the tables')
  else
    yield warning(
      `${migrations.length - applied.length} migrations are missing`,
      'The next start or waypost migrate applies the migrations; make a backup first',
    )
}

async function* checkMasterKey(config: Config, pool: Pool): AsyncGenerator<Finding> {
  const [table] = await pool`select to_regclass('kernel.data_keys') is not null as yes`
  const keys = table?.yes ? await pool`select from kernel.data_keys` : []
  if (keys.length === 0) return
  const file = join(config.dataDirectory, 'keys', 'master.key')
  if (config.masterKey === undefined && !existsSync(file)) {
    yield problem(`The master key is missing: ${file}`, 'Restore the file, set WAYPOST_MASTER_KEY, or restore a backup')
    return
  }
  try {
    await readDataKey(pool, loadMasterKey(config.masterKey, config.dataDirectory))
    yield ok('The master key opens the stored secrets')
  } catch (error) {
    if (error instanceof RotationUnderWay) {
      yield ok('The master key opens the stored secrets')
      yield warning('A rotation of the keys is not complete', error.nextStep)
    } else yield problem(reasonOf(error), 'Use the previous WAYPOST_MASTER_KEY or WAYPOST_DATA, or restore a backup')
  }
}
