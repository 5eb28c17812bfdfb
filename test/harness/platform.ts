/** Runs the real program as a process, with temporary directories and free ports, for journeys, conformance tests and fault tests. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Bootstrap, RealmSecrets } from '../../src/assembly/bootstrap.ts'
import { sleep } from '../../src/kernel/clock.ts'
import { type Ask, bearer, client, tokenOf } from './client.ts'
import { afterAllTests, oncePerRun, preparedDatabase, temporaryDirectory } from './database.ts'
import { databaseUrl } from './postgres-server.ts'
import { sharedDirectoryVariable } from './timings.ts'

/** Environment variable set by the runner: path of the bundled program (tools/program-bundle.ts), which starts faster. */
export const programVariable = 'TEST_PROGRAM'

const sourceProgram = resolve(import.meta.dirname, '../../bin/main.mjs')

/** Returns the path of the program that tests start. */
export const programPath = ({ sources = false } = {}) =>
  sources ? sourceProgram : (process.env[programVariable] ?? sourceProgram)

export interface RunningPlatform {
  baseUrl: string
  managementUrl: string
  mqttUrl: string
  mqttsUrl: string
  directory: string
  bootstrap: Bootstrap
  process: ChildProcess
  output(): string
  /**
   * Returns a function that sends requests as the backend client of a realm. This client has the role `service`; in the realm `platform` it
   * has every scope.
   */
  asService(realm: RealmSecrets): Promise<Ask>
  authorizationOf(realm: RealmSecrets): Promise<{ authorization: string }>
  kill(signal: NodeJS.Signals): Promise<number | null>
}

type Address = 'baseUrl' | 'managementUrl' | 'mqttUrl' | 'mqttsUrl'

export interface PlatformOptions {
  /** The data directory. Default: a copy of an initialized directory. */
  directory?: string
  environment?: Record<string, string>
  args?: string[]
  /** Maximum number of file descriptors (`ulimit -n`). */
  descriptors?: number
  /** Starts the program from its sources, as users do, instead of from the bundle. */
  sources?: boolean
}

/** Returns the environment of a program with this data directory and free ports. */
export const environmentOf = (directory: string, extra: Record<string, string> = {}) => {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WAYPOST_')))
  return {
    ...inherited,
    WAYPOST_DATA: directory,
    WAYPOST_PORT: '0',
    WAYPOST_MANAGEMENT_PORT: '0',
    WAYPOST_MQTT_PORT: '0',
    WAYPOST_MQTTS_PORT: '0',
    ...extra,
  }
}

/** Runs a command of the program until it exits. `onSpawn` gets the process, so that a test can send signals. */
export async function runCommand(
  args: string[],
  options: PlatformOptions & { onSpawn?: (child: ChildProcess) => void } = {},
) {
  const child = spawn(process.execPath, [programPath(options), ...args], {
    env: environmentOf(options.directory ?? temporaryDirectory(), options.environment),
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (text) => (stdout += text))
  child.stderr.on('data', (text) => (stderr += text))
  options.onSpawn?.(child)
  const code = await new Promise<number | null>((done) => child.on('close', done))
  return { code, stdout, stderr }
}

/**
 * Copies a data directory on which the platform has already run, which halves the time of a start. All copies have the same secrets.
 * Without the test runner the directory is empty. With `withBootstrap: false` it has no bootstrap.json, so the test can wait for this file
 * to find out when the start is complete.
 */
export async function initializedDirectory({ withBootstrap = true } = {}): Promise<string> {
  const directory = temporaryDirectory()
  const shared = process.env[sharedDirectoryVariable]
  if (!shared) return directory
  const template = join(shared, 'used-platform')
  await oncePerRun(
    template,
    async () => existsSync(template),
    async () => {
      const unfinished = join(shared, 'new-platform')
      rmSync(unfinished, { recursive: true, force: true })
      mkdirSync(unfinished)
      await (await startPlatform({ directory: unfinished })).kill('SIGTERM')
      renameSync(unfinished, template)
    },
  )
  // `cp -p` keeps the owner of the files, which is the operating-system account of PostgreSQL.
  execFileSync('cp', ['-Rp', `${template}/.`, directory])
  if (!withBootstrap) rmSync(join(directory, 'bootstrap.json'))
  return directory
}

/**
 * Returns settings for several nodes on one database. The platform has already run on this database, which halves the time of a start. The
 * database is on the test server, which has no durability.
 */
export async function usedDatabase() {
  const master = { WAYPOST_MASTER_KEY: 'k'.repeat(40) }
  const connection = await preparedDatabase('used_platform', async (fresh) => {
    const environment = { ...master, WAYPOST_DATABASE_URL: await databaseUrl(fresh) }
    await (await startPlatform({ directory: temporaryDirectory(), environment })).kill('SIGTERM')
  })
  return { connection, environment: { ...master, WAYPOST_DATABASE_URL: await databaseUrl(connection) } }
}

/** Creates data directories for several nodes on one database, which share one folder for blobs. */
export function nodeDirectories(count: number): string[] {
  const shared = temporaryDirectory()
  return Array.from({ length: count }, () => {
    const directory = temporaryDirectory()
    symlinkSync(shared, join(directory, 'blobs'))
    return directory
  })
}

export async function startPlatform(options: PlatformOptions = {}): Promise<RunningPlatform> {
  const directory = options.directory ?? (await initializedDirectory())
  const file = join(directory, 'bootstrap.json')
  rmSync(file, { force: true })
  const limited =
    options.descriptors === undefined ? [] : ['sh', '-c', `ulimit -n ${options.descriptors}; exec "$@"`, 'sh']
  const [command = '', ...args] = [...limited, process.execPath, programPath(options), 'start']
  const child = spawn(command, args, { env: environmentOf(directory, options.environment) })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  child.stderr.on('data', (text) => (output += text))
  const closed = new Promise<number | null>((done) => child.on('close', done))
  const kill = (signal: NodeJS.Signals) => {
    child.kill(signal)
    return closed
  }
  afterAllTests(async () => {
    if (child.exitCode === null && child.signalCode === null) await kill('SIGTERM')
  })
  const deadline = Date.now() + 120_000
  while (!existsSync(file)) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`the platform did not start:\n${output}`)
    await sleep(10)
  }
  const written = JSON.parse(readFileSync(file, 'utf8')) as Bootstrap & Record<Address, string>
  const { baseUrl, managementUrl, mqttUrl, mqttsUrl, ...bootstrap } = written
  const authorizationOf = async ({ tenantId, backendClient: { id, secret } }: RealmSecrets) =>
    bearer(await tokenOf(baseUrl, tenantId, { grant_type: 'client_credentials', client_id: id, client_secret: secret }))
  return {
    baseUrl,
    managementUrl,
    mqttUrl,
    mqttsUrl,
    directory,
    bootstrap,
    process: child,
    output: () => output,
    kill,
    authorizationOf,
    asService: async (realm) => client(baseUrl, await authorizationOf(realm)),
  }
}
