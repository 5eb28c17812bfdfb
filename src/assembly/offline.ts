/**
 * Generates the API document without a database. Builds the services with a kit that only accepts declarations, and mounts their routes.
 */
import { loadConfig } from '../config.ts'
import { noProxy } from '../kernel/client-address.ts'
import type { BuiltService, Kit, Needs } from '../kernel/define-service.ts'
import { createFileDescriptors } from '../kernel/file-descriptors.ts'
import { createOperationList } from '../kernel/http/operation-list.ts'
import { createHttpServer } from '../kernel/http/server.ts'
import { limitSettings } from '../kernel/limit-settings.ts'
import { createLive } from '../kernel/live/live.ts'
import { createLog } from '../kernel/log.ts'
import { createMetrics } from '../kernel/metrics.ts'
import { catalogue } from './catalogue.ts'
import { declarationsOf } from './declared.ts'
import { apiDocument } from './front-pages.ts'
import { sortByNeeds } from './order.ts'
import { version } from './version.ts'

/** Returns a part of the kit that only accepts declarations (jobs, event handlers, metrics). Any other call throws. */
const unused = (name: string, declared: Record<string, () => unknown> = {}) =>
  new Proxy(declared, {
    get: (_, property) =>
      declared[String(property)] ??
      (() => {
        throw new Error(`${name} is not available without a database`)
      }),
  })
const acceptDeclarations = (...names: string[]) => Object.fromEntries(names.map((name) => [name, () => {}]))

export const offlineApiDocument = async (baseUrl: string) => (await offlineApis(baseUrl)).document

/** Returns the APIs of all services, and the document that describes them. */
export async function offlineApis(baseUrl: string) {
  const log = await createLog({ level: 'silent', format: 'json' })
  const metrics = createMetrics()
  const config = loadConfig({})
  const members = { nodeId: '', ...acceptDeclarations('declareOwnedRows', 'onJoin', 'onLeave', 'onSilent', 'onReturn') }
  const signals = { ...acceptDeclarations('on', 'onReset', 'answer', 'declareCheck') }
  const kit = {
    // Separate connections are opened only on first use, so `open` is accepted too.
    db: unused('the database', { open: () => unused('the database') }),
    bus: { ...acceptDeclarations('subscribe', 'handle', 'record', 'onReset') },
    members,
    signals,
    live: createLive({ members, signals, log } as unknown as Parameters<typeof createLive>[0]),
    jobs: { ...acceptDeclarations('handle') },
    bulk: { ...acceptDeclarations('handle', 'handleWalk', 'handleParts') },
    waits: { ...acceptDeclarations('define') },
    secrets: unused('the data key'),
    metrics,
    limits: config.read(limitSettings),
    tenantLimits: { ...acceptDeclarations('setSource') },
    quota: unused('the quota'),
    diskSpace: unused('the disks'),
    audit: unused('the audit log'),
    reportLockout: () => {},
    descriptors: createFileDescriptors({ limit: 1024, log, metrics }),
    log,
    now: () => new Date(0),
    newId: () => '',
    baseUrl: () => baseUrl,
    platform: config.platform,
    settingsInEffect: [],
    version,
    ...declarationsOf(catalogue),
    operations: createOperationList(),
    system: unused('the system'),
  } as unknown as Kit
  const http = createHttpServer({
    baseUrl: () => baseUrl,
    log,
    metrics,
    authenticate: async () => undefined,
    callerWithoutAuthentication: () => undefined,
    scopes: kit.scopes,
    rateLimit: { perCredential: 0, perAddress: 0 },
    trustProxy: noProxy,
    connections: { share: kit.descriptors.http, perAddress: 1, acceptFailed: () => {} },
  })
  const built = new Map<string, BuiltService<unknown>>()
  for (const service of sortByNeeds(catalogue)) {
    const apis = Object.entries((service.needs ?? {}) as Needs).map(([key, need]) => [key, built.get(need.name)?.api])
    const settings = service.settings && config.read(service.settings)
    built.set(service.provides.name, service.build({ ...kit, settings }, Object.fromEntries(apis)))
  }
  const apis = [...built.values()].flatMap((service) => service.http ?? [])
  for (const api of apis) http.mount(api)
  await http.app.ready()
  const document = apiDocument(http, baseUrl)
  await http.close()
  return { apis, document }
}
