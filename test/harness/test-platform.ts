/**
 * Runs services in the process of the test, over a new database. SQL and routes are real; HTTP requests call the routes without a socket.
 */
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import type { InjectOptions } from 'fastify'
import { type BuiltServices, buildServices, migrationSources } from '../../src/assembly/build.ts'
import { loadConfig } from '../../src/config.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import type { Authenticate, Caller } from '../../src/kernel/contract.ts'
import type { ConnectionOptions } from '../../src/kernel/db.ts'
import type { AnyService } from '../../src/kernel/define-service.ts'
import type { Extension } from '../../src/kernel/device.ts'
import { StorageLow, Unauthenticated } from '../../src/kernel/errors.ts'
import type { Origins } from '../../src/kernel/http/cors.ts'
import { createHttpServer, type HttpServer } from '../../src/kernel/http/server.ts'
import { newId } from '../../src/kernel/ids.ts'
import { createLog } from '../../src/kernel/log.ts'
import { readMigrations } from '../../src/kernel/migrate.ts'
import { afterAllTests, preparedDatabase, preparedTemplate, temporaryDirectory } from './database.ts'

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  body: any
  text: string
  headers: Record<string, string | undefined>
}

export interface TestPlatform extends BuiltServices {
  http: HttpServer
  baseUrl: string
  /** Sends requests as a caller: `as(aCaller(…))('POST /api/v1/applications', { name: 'a' })`. */
  as(caller: Caller | undefined): Ask
  /** Addresses of the MQTT listeners, if the option `listeners` opened them. */
  addresses: Record<string, string>
  close(): Promise<void>
}

export type Ask = (operation: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

export interface TestPlatformOptions {
  services: AnyService[]
  environment?: Record<string, string>
  now?: Clock
  /** Uses the database of another test platform. Both platforms need the same WAYPOST_MASTER_KEY. */
  connection?: ConnectionOptions
  /** Opens the MQTT listeners on free ports. The value lists device extensions that are added to the extensions of the services. */
  listeners?: Extension[]
  /** Hashes passwords at the cost of production; by default the cost is minimal. */
  slowPasswords?: boolean
  /** Authenticates real tokens; callers passed to `as` still work. */
  authenticate?: (waypost: BuiltServices) => Authenticate
  /** Decides which origins of web pages may call the platform; by default no origin. */
  origins?: (waypost: BuiltServices) => Origins['isAllowed']
}

export async function openTestPlatform(options: TestPlatformOptions): Promise<TestPlatform> {
  const directory = temporaryDirectory()
  const config = loadConfig({
    WAYPOST_DATA: directory,
    WAYPOST_LOG_LEVEL: 'error',
    WAYPOST_MQTT_PORT: '0',
    WAYPOST_MQTTS_PORT: '0',
    ...options.environment,
  })
  if (!options.slowPasswords) config.platform.passwordCost = { scrypt: { N: 2 ** 10, r: 8, p: 1 }, bcryptRounds: 4 }
  const log = await createLog(config.log)
  const baseUrl = config.baseUrl ?? 'http://waypost.test'
  const waypost = await buildServices({
    config,
    connection: options.connection ?? (await migratedDatabase(options.services, options.now === undefined)),
    log,
    services: options.services,
    // The service instances of all services are declared, even of services that this test does not run.
    declared: (await import('../../src/assembly/catalogue.ts')).catalogue,
    baseUrl: () => baseUrl,
    ...(options.now && { now: options.now }),
  })
  const callers = new Map<string, Caller>()
  const real = options.authenticate?.(waypost)
  const http = createHttpServer({
    baseUrl: () => baseUrl,
    log,
    metrics: waypost.kit.metrics,
    authenticate: async (headers) => {
      const known = callers.get(headers.authorization ?? '')
      if (known) return known
      if (real) return real(headers)
      if (headers.authorization || headers.apiKey) throw Unauthenticated()
      return undefined
    },
    ...(options.origins && { origins: { isAllowed: options.origins(waypost) } }),
    callerWithoutAuthentication: () => undefined,
    rateLimit: { perCredential: 0, perAddress: 0 },
    tenantLimits: waypost.kit.tenantLimits,
    audit: waypost.kit.audit,
    refuseChanges: () => (waypost.kit.diskSpace.isLow ? StorageLow() : undefined),
    trustProxy: config.trustProxy,
    stopping: waypost.kit.stopping,
    connections: {
      share: waypost.kit.descriptors.http,
      perAddress: config.connections.httpPerAddress || waypost.kit.descriptors.http.perAddress,
      acceptFailed: (error) => waypost.kit.descriptors.acceptFailed('http', error),
    },
  })
  for (const service of waypost.built.values()) for (const listener of service.http ?? []) http.mount(listener)
  waypost.kit.internalCalls.connect(http.app)
  waypost.kit.operations.connect(http)
  await http.app.ready()
  await waypost.kit.jobs.start({ workers: true })
  await waypost.kit.bus.start({ workers: true })
  await waypost.kit.live.start()
  const built = [...waypost.built.values()]
  for (const service of built) await service.start?.()
  const extensions = [...built.flatMap(({ device = [] }) => device), ...(options.listeners ?? [])]
  const opened = options.listeners ? await Promise.all(built.map((service) => service.open?.(extensions))) : []

  let open = true
  const close = async () => {
    if (!open) return
    open = false
    waypost.beginStop()
    await Promise.all(opened.map((listener) => listener?.close()))
    await http.close()
    for (const service of waypost.built.values()) await service.stop?.()
    await waypost.kit.live.stop()
    await waypost.kit.bus.stop()
    await waypost.kit.jobs.stop()
    await waypost.close()
    rmSync(directory, { recursive: true, force: true })
  }
  afterAllTests(close)
  return {
    ...waypost,
    http,
    baseUrl,
    addresses: Object.assign({}, ...opened.map((listener) => listener?.addresses)),
    close,
    as(caller) {
      const name = `Bearer test-${newId()}`
      if (caller) callers.set(name, caller)
      return (operation, body, headers = {}) =>
        ask(http, operation, body, { ...(caller && { authorization: name }), ...headers })
    },
  }
}

/**
 * Services that are started in the template, because their start creates tables or many rows. The start of other services depends on the
 * data key or the data directory.
 */
const startedInTemplate = ['tenants', 'traffic-log']

/**
 * Creates a database with the content that the first start of these services creates, except data keys and bootstrap data. With
 * `started: false`, the services are not started; tests with a simulated clock need this, because a start writes the current time.
 */
export async function migratedDatabase(services: AnyService[], started = true): Promise<ConnectionOptions> {
  // The migrations of the kernel and of the job queue take most of the time, so they run once for all templates.
  const { key, make } = templateOf([], true)
  const base = await preparedTemplate(key, make)
  const own = templateOf(services, started)
  return preparedDatabase(own.key, own.make, base)
}

function templateOf(services: AnyService[], started: boolean) {
  const migrations = readMigrations(migrationSources(services))
  const names = services.map(({ name }) => name).toSorted()
  const key = createHash('sha256')
    .update(JSON.stringify([names, migrations, started]))
    .digest('hex')
    .slice(0, 24)
  const make = async (connection: ConnectionOptions) => {
    const directory = temporaryDirectory()
    const waypost = await buildServices({
      config: loadConfig({ WAYPOST_DATA: directory }),
      connection,
      log: await createLog({ level: 'silent', format: 'json' }),
      services,
      declared: (await import('../../src/assembly/catalogue.ts')).catalogue,
      baseUrl: () => 'http://waypost.test',
    })
    await waypost.kit.jobs.start({ workers: false })
    if (started) for (const name of startedInTemplate) await waypost.built.get(name)?.start?.()
    await waypost.kit.jobs.stop()
    await waypost.kit.db.sql`delete from kernel.data_keys`
    await waypost.close()
  }
  return { key, make }
}

async function ask(
  http: HttpServer,
  operation: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Answer> {
  const [method, url] = operation.split(' ') as [NonNullable<InjectOptions['method']>, string]
  const hasBody = body !== undefined
  const raw = typeof body === 'string' || Buffer.isBuffer(body)
  const response = await http.app.inject({
    method,
    url,
    headers: { ...(hasBody && { 'content-type': 'application/json' }), ...headers },
    ...(hasBody && { payload: raw ? body : JSON.stringify(body) }),
  })
  const text = response.body
  const isJson = response.headers['content-type']?.toString().includes('json')
  return {
    status: response.statusCode,
    body: isJson && text ? JSON.parse(text) : undefined,
    text,
    headers: response.headers as never,
  }
}
