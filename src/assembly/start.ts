/** Starts the platform: database, migrations, services, listeners. Stops them in reverse order. */
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { Identity } from '../identity/contract.ts'
import type { AnyService, Kit, OpenListeners } from '../kernel/define-service.ts'
import { createEarlyStatistics } from '../kernel/early-statistics.ts'
import { StorageLow } from '../kernel/errors.ts'
import { openManagement } from '../kernel/health.ts'
import { createHttpServer, type HttpServer } from '../kernel/http/server.ts'
import { type HttpsSettings, httpsSettings } from '../kernel/http/settings.ts'
import { explainListenError, hostInUrl } from '../kernel/listen-errors.ts'
import type { Log } from '../kernel/log.ts'
import { createPeriodic } from '../kernel/periodic.ts'
import { createServerCertificate, hostsOf } from '../kernel/server-certificate.ts'
import { ConfigurationError } from '../kernel/settings.ts'
import { Credentials } from '../services/credentials/contract.ts'
import { withoutAuthentication } from './authentication-off.ts'
import { type Bootstrap, bootstrap } from './bootstrap.ts'
import { type BuiltServices, buildServices } from './build.ts'
import { createConsole } from './console/console.ts'
import { mountConsole } from './console/serve.ts'
import { consoleSettings } from './console/settings.ts'
import type { Database } from './database.ts'
import { mountFrontPages } from './front-pages.ts'
import { stopAfterFailedStartFailed } from './log-messages.ts'

export interface Platform {
  platformServices: BuiltServices
  baseUrl: string
  managementUrl: string
  /** Addresses of listeners other than HTTP, by their names in bootstrap.json. */
  addresses: Record<string, string>
  bootstrap: Bootstrap
  /** True if this start created the administrator of realm `default`. */
  isFirst: boolean
  stop(): Promise<void>
}

type Closers = (() => Promise<void>)[]

/**
 * Opens the database, the services and the listeners, in this order. If a step fails, closes everything that was opened and throws.
 * `databaseOpening` is the database, which starts while the services are loaded from disk. `signal` aborts the start at the next step.
 * `services` replaces the services of the catalogue.
 */
export async function startPlatform(
  config: Config,
  log: Log,
  databaseOpening: Promise<Database>,
  signal?: AbortSignal,
  services?: AnyService[],
): Promise<Platform> {
  const loading = import('./catalogue.ts')
  loading.catch(() => {}) // A failure is handled below, where `loading` is awaited and the database can be closed.
  const closers: Closers = []
  const stop = async () => {
    const errors: unknown[] = []
    for (const close of closers.splice(0).reverse()) await close().catch((error) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }
  try {
    const database = await databaseOpening
    closers.push(() => database.stop())
    signal?.throwIfAborted()
    const { catalogue } = await loading
    const management = await explainListenError('MANAGEMENT_PORT', config.managementPort, () =>
      openManagement(config.managementPort),
    )
    closers.push(() => management.close())

    const https = readHttps(config)
    let baseUrl =
      config.baseUrl ?? ownUrl(config, https.port === undefined ? 'http' : 'https', https.port ?? config.port)
    const platformServices = await buildServices({
      config,
      connection: database.connection,
      log,
      services: services ?? catalogue,
      baseUrl: () => baseUrl,
    })
    closers.push(() => platformServices.close())
    signal?.throwIfAborted()
    const { kit, built } = platformServices
    management.serveMetrics(kit.metrics)
    management.onAcceptError((error) => kit.descriptors.acceptFailed('management', error))
    const stopWatching = kit.descriptors.watch()
    closers.push(async () => stopWatching())
    const stopWatchingDisks = await kit.diskSpace.watch()
    closers.push(async () => stopWatchingDisks())

    const http = createHttp(config, log, platformServices, () => baseUrl)
    const webConsole = createWebConsole(config, log, http, () => baseUrl, closers)
    const referenceScript = async () => {
      const state = await webConsole.state()
      return state.kind === 'ready' ? state.manifest.reference : undefined
    }
    mountFrontPages(http, { baseUrl: () => baseUrl, report: management.report, referenceScript })

    await startBackground(kit, closers)
    await platformServices.reloadKeys()
    for (const service of built.values()) {
      signal?.throwIfAborted()
      await service.start?.()
      if (service.stop) closers.push(() => service.stop!())
    }
    const periodic = createPeriodic({
      db: kit.db.open({ max: 6, name: 'waypost-periodic' }),
      members: kit.members,
      log,
    })
    periodic.start([...kit.bulk.periodic, ...[...built.values()].flatMap((service) => service.periodic ?? [])])
    closers.push(() => periodic.stop())
    const { credentials, isFirst } = await ensureCredentials(platformServices)
    signal?.throwIfAborted()

    const opened: OpenListeners[] = []
    const closeListeners = async () => void (await Promise.all(opened.splice(0).map((api) => api.close())))
    closers.push(closeListeners)
    const extensions = [...built.values()].flatMap((service) => service.device ?? [])
    for (const service of built.values()) if (service.open) opened.push(await service.open(extensions))
    const addresses = Object.assign({}, ...opened.map((api) => api.addresses)) as Record<string, string>
    closers.push(() => http.close())
    if (https.port !== undefined) {
      addresses.httpsUrl = await openHttps(config, http, platformServices, () => baseUrl)
      baseUrl = config.baseUrl ?? addresses.httpsUrl
    }
    await explainListenError('PORT', config.port, () => http.listen({ host: config.host, port: config.port }))
    // These listeners are closed before HTTP, because an open WebSocket of a device would keep HTTP from closing.
    closers.push(closeListeners)
    const httpUrl = ownUrl(config, 'http', (http.app.server.address() as AddressInfo).port)
    if (https.port !== undefined) addresses.httpUrl = httpUrl
    else baseUrl = config.baseUrl ?? httpUrl
    management.setReady([
      { name: 'database', check: () => kit.db.sql`select 1`.then(() => undefined) },
      { name: 'file descriptors', check: kit.descriptors.check },
      { name: 'disks', check: kit.diskSpace.check },
    ])
    // The start does not wait until the web console is built.
    setImmediate(() => void webConsole.prepare())
    // The last two closers run first, so that waiting requests are answered while the listeners are still open.
    closers.push(async () => platformServices.beginStop())
    closers.push(async () => management.setStopping())

    const results = { platformServices, baseUrl, managementUrl: management.url, addresses, bootstrap: credentials }
    return { ...results, isFirst, stop }
  } catch (error) {
    await stop().catch((problem) => stopAfterFailedStartFailed(log, { err: problem }))
    throw error
  }
}

/** Creates the credentials. `isFirst` is true if the administrator of realm `default` did not exist before. */
async function ensureCredentials(platformServices: BuiltServices) {
  const created: string[] = []
  const credentials = await bootstrap(platformServices, (tenantId) => created.push(tenantId))
  return { credentials, isFirst: created.includes('default') }
}

const ownUrl = ({ host }: Config, scheme: 'http' | 'https', port: number) => `${scheme}://${hostInUrl(host)}:${port}`

function readHttps(config: Config): HttpsSettings {
  const https = config.read(httpsSettings)
  if (https.redirect && https.port === undefined && !config.baseUrl?.startsWith('https:'))
    throw new ConfigurationError(
      'WAYPOST_HTTPS_REDIRECT needs WAYPOST_HTTPS_PORT, or a WAYPOST_BASE_URL with https for a proxy in front',
    )
  if (https.redirect && config.baseUrl?.startsWith('http:'))
    throw new ConfigurationError('WAYPOST_HTTPS_REDIRECT needs a WAYPOST_BASE_URL with https')
  return https
}

/** Opens HTTPS and returns its address. */
async function openHttps(config: Config, http: HttpServer, { kit, ask }: BuiltServices, baseUrl: () => string) {
  const { port = 0, certificateHosts, ...files } = config.read(httpsSettings)
  const certificate = createServerCertificate(
    {
      settings: 'HTTPS',
      certificateFile: files.certificateFile,
      keyFile: files.keyFile,
      acceptsClientCertificates: false,
      hosts: () => hostsOf(baseUrl(), config.host, () => certificateHosts),
      log: kit.log,
      now: kit.now,
    },
    ask(Credentials),
  )
  const listenSecurely = () => http.listenSecurely({ host: config.host, port }, certificate)
  return ownUrl(config, 'https', await explainListenError('HTTPS_PORT', port, listenSecurely))
}

function createWebConsole(config: Config, log: Log, http: HttpServer, baseUrl: () => string, closers: Closers) {
  const fallbackDirectory = join(config.dataDirectory, 'console')
  const webConsole = createConsole({ ...config.read(consoleSettings), fallbackDirectory, log })
  mountConsole(http, webConsole, baseUrl)
  closers.push(async () => webConsole.stop())
  return webConsole
}

/** Creates the HTTP server with the routes of all services. It does not listen yet. */
function createHttp(config: Config, log: Log, { kit, built, ask }: BuiltServices, baseUrl: () => string): HttpServer {
  const apis = [...built.values()].flatMap((service) => service.http ?? [])
  const http = createHttpServer({
    baseUrl,
    log,
    metrics: kit.metrics,
    authenticate: ask(Identity).authenticate,
    origins: { isAllowed: ask(Identity).isOriginAllowed },
    callerWithoutAuthentication: withoutAuthentication(config.withoutAuthentication, log, apis),
    rateLimit: config.rateLimit,
    tenantLimits: kit.tenantLimits,
    audit: kit.audit,
    refuseChanges: () => (kit.diskSpace.isLow ? StorageLow() : undefined),
    scopes: kit.scopes,
    trustProxy: config.trustProxy,
    stopping: kit.stopping,
    secureTransport: config.read(httpsSettings),
    compression: config.read(httpsSettings).compression,
    connections: {
      share: kit.descriptors.http,
      perAddress: config.connections.httpPerAddress || kit.descriptors.http.perAddress,
      acceptFailed: (error) => kit.descriptors.acceptFailed('http', error),
    },
  })
  for (const api of apis) http.mount(api)
  kit.internalCalls.connect(http.app)
  kit.operations.connect(http)
  return http
}

/** Starts jobs, events and live streams. They stop after the services, so that the services' last events are forwarded to other nodes. */
async function startBackground(kit: Kit, closers: Closers) {
  closers.push(() => kit.jobs.stop())
  await kit.jobs.start({ workers: true })
  await kit.bus.start({ workers: true })
  closers.push(() => kit.bus.stop())
  const statistics = createEarlyStatistics({ db: kit.db, log: kit.log })
  statistics.start()
  closers.push(() => statistics.stop())
  await kit.live.start()
  closers.push(() => kit.live.stop())
}
