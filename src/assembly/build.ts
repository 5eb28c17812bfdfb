/** Builds the services on a database, both for the platform and for commands that need services. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import { createAudit } from '../kernel/audit/audit.ts'
import type { ContentTable } from '../kernel/backup/contents.ts'
import { schemaOf } from '../kernel/backup/inventory.ts'
import { createBulk } from '../kernel/bulk/bulk.ts'
import { createBus } from '../kernel/bus.ts'
import { type Clock, systemClock } from '../kernel/clock.ts'
import { type Contract, systemCtx } from '../kernel/contract.ts'
import { createDailyQuota } from '../kernel/daily-quota.ts'
import { type ConnectionOptions, connect, createDb, type Db } from '../kernel/db.ts'
import type { AnyService, BuiltService, Kit, Needs } from '../kernel/define-service.ts'
import { createDiskSpace } from '../kernel/disk-space.ts'
import { ProcessStopping } from '../kernel/errors.ts'
import { createFileDescriptors } from '../kernel/file-descriptors.ts'
import { createInternalCalls } from '../kernel/http/internal-calls.ts'
import { createOperationList } from '../kernel/http/operation-list.ts'
import { newId } from '../kernel/ids.ts'
import { createJobs } from '../kernel/jobs.ts'
import { followRotation, kernelColumns, type QualifiedColumn } from '../kernel/key-rotation.ts'
import { limitSettings } from '../kernel/limit-settings.ts'
import { createLive } from '../kernel/live/live.ts'
import { createLockoutReport } from '../kernel/lockout-report.ts'
import type { Log } from '../kernel/log.ts'
import { createMembers } from '../kernel/members.ts'
import { createMetrics } from '../kernel/metrics.ts'
import { isUpToDate, type Migration, type MigrationSource, migrate, readMigrations } from '../kernel/migrate.ts'
import { createSecrets, loadDataKey, loadMasterKey } from '../kernel/secrets.ts'
import { createSignals, postgresTransport } from '../kernel/signals.ts'
import { createTenantLimits } from '../kernel/tenant-limits.ts'
import { createWaits } from '../kernel/wait.ts'
import { declarationsOf } from './declared.ts'
import { deleteChangedFirstPasswords } from './first-password.ts'
import { reloadFailed } from './log-messages.ts'
import { sortByNeeds } from './order.ts'
import { version } from './version.ts'

export interface BuiltServices {
  kit: Kit
  /** Connection to the database of these services. */
  connection: ConnectionOptions
  built: Map<string, BuiltService<unknown>>
  services: AnyService[]
  migrated: string[]
  /**
   * Reads the keys for secrets again, because a rotation of the keys may have published its event before this process could receive events.
   */
  reloadKeys(): Promise<void>
  /** Returns the API of a service. */
  ask<T>(contract: Contract<T>): T
  /**
   * Registers a listener for resets: events may have been lost, or the database was restored. It is called after the kernel has reloaded
   * its state.
   */
  onReset(listener: () => Promise<void>): void
  /** Registers a listener that is called when the credentials in bootstrap.json have changed. */
  onBootstrapChange(listener: () => void): void
  /** Ends all waits, so that waiting requests are answered before the listeners close. */
  beginStop(): void
  close(): Promise<void>
}

export const migrationSources = (services: AnyService[]): MigrationSource[] => [
  { module: 'kernel', directory: fileURLToPath(new URL('../kernel/migrations/', import.meta.url)) },
  ...sortByNeeds(services).flatMap(({ name, migrations }) =>
    migrations ? [{ module: name, directory: fileURLToPath(migrations) }] : [],
  ),
]

/** Returns the tables whose rows reference contents of the blob store. */
export const contentTables = (services: AnyService[]): ContentTable[] =>
  services.flatMap(({ name, contents = [] }) => contents.map((one) => ({ schema: schemaOf(name), ...one })))

/** Returns the columns with sealed values of the kernel and all services. */
export const sealedColumns = (services: AnyService[]): QualifiedColumn[] => [
  ...kernelColumns,
  ...services.flatMap(({ name, sealed = [] }) => sealed.map((one) => ({ schema: schemaOf(name), ...one }))),
]

/**
 * Returns the number of event handlers that may run at the same time. It is a quarter of the connections, because half of the connections
 * are for transactions (kernel/db.ts), and event handlers may use half of those connections.
 */
const outboxWorkers = ({ databaseConnections }: Config) => Math.max(1, Math.floor(databaseConnections / 4))

/** Migrates over a separate connection, because a connection that created all tables keeps 10 MB until it is closed. */
async function migrateIfNeeded(db: Db, connection: ConnectionOptions, migrations: Migration[]): Promise<string[]> {
  if (await isUpToDate(db.sql, migrations)) return []
  const pool = connect(connection, { max: 1, name: 'waypost-migrations' })
  try {
    return await migrate(pool, migrations)
  } finally {
    await pool.end()
  }
}

export async function buildServices(options: {
  config: Config
  connection: ConnectionOptions
  log: Log
  services: AnyService[]
  /**
   * Services whose service instances and scopes the kit lists. Default: `services`. Tests set it to all services, although they build only
   * some.
   */
  declared?: AnyService[]
  baseUrl: () => string
  now?: Clock
}): Promise<BuiltServices> {
  const { config, log, connection, now = systemClock } = options
  const services = sortByNeeds(options.services)
  const jobPool = connect(connection, { max: 1, translate: false, name: 'waypost-jobs', statementSeconds: 300 })
  const db = createDb(connection, { max: config.databaseConnections })
  try {
    const migrated = await migrateIfNeeded(db, connection, readMigrations(migrationSources(services)))
    const masterKey = () => loadMasterKey(config.masterKey, config.dataDirectory) // Each call reads the file: a rotation replaces it.
    const secrets = createSecrets(await loadDataKey(db.sql, masterKey()))
    const metrics = createMetrics()
    const members = createMembers({ db, version, log, metrics })
    const signals = createSignals({ db, members, transport: postgresTransport(db), log, metrics })
    const jobs = createJobs({ db, pool: jobPool, log, checks: { declare: signals.declareCheck } })
    const stop = new AbortController()
    const limits = config.read(limitSettings)
    const tenantLimits = createTenantLimits(limits, log)
    const kit: Kit = {
      db,
      members,
      signals,
      live: createLive({ signals, members, log }),
      waits: createWaits({ nodeId: members.nodeId, signals, stopping: stop.signal, metrics }),
      stopping: stop.signal,
      bus: createBus({ db, signals, nodeId: members.nodeId, log, metrics, workers: outboxWorkers(config) }),
      jobs,
      bulk: createBulk({ db, jobs, log, newId }),
      secrets,
      metrics,
      descriptors: createFileDescriptors({ configured: config.connections, log, metrics }),
      limits,
      tenantLimits,
      reportLockout: createLockoutReport({ log, metrics }),
      audit: createAudit({ db, now, log, days: limits.auditDays }),
      quota: createDailyQuota({ db, limits: tenantLimits, now, log, metrics }),
      diskSpace: createDiskSpace({ volumes: volumesOf(config), db, minBytes: limits.diskFreeMinBytes, log, metrics }),
      log,
      now,
      newId,
      baseUrl: options.baseUrl,
      settings: undefined,
      internalCalls: createInternalCalls(),
      platform: config.platform,
      settingsInEffect: config.inEffect,
      version,
      ...declarationsOf(options.declared ?? services),
      operations: createOperationList(),
      system: (tenantId) => systemCtx(tenantId, log, newId(), stop.signal),
    }
    const resetListeners: (() => Promise<void>)[] = []
    let open = true
    const reload = async () => {
      try {
        await reloadKeys()
        await kit.jobs.createMissingQueues()
        for (const listener of resetListeners) await listener()
      } catch (error) {
        if (!open) return
        reloadFailed(log, { err: error })
        setTimeout(reload, 1000).unref()
      }
    }
    const reloadKeys = followRotation({ db, bus: kit.bus, nodeId: members.nodeId, log }, async () => {
      const keys = await loadDataKey(db.sql, masterKey())
      secrets.setDataKeys(keys)
      return keys.rotation?.phase
    })
    kit.bus.onReset(reload)
    const built = new Map<string, BuiltService<unknown>>()
    for (const service of services) built.set(service.provides.name, buildService(service, kit, config, built))
    const bootstrapListeners: (() => void)[] = []
    deleteChangedFirstPasswords(kit, () => {
      for (const listener of bootstrapListeners) listener()
    })
    return {
      kit,
      connection,
      built,
      services,
      migrated,
      reloadKeys,
      ask: <T>(contract: Contract<T>) => built.get(contract.name)?.api as T,
      onReset: (listener) => void resetListeners.push(listener),
      onBootstrapChange: (listener) => void bootstrapListeners.push(listener),
      beginStop: () => stop.abort(ProcessStopping()),
      async close() {
        open = false
        stop.abort(ProcessStopping())
        await Promise.all([signals.flush(), kit.quota.flush(), kit.audit.flush()])
        await Promise.all([db.close(), jobPool.end({ timeout: 5 })])
      },
    }
  } catch (error) {
    await Promise.all([db.close(), jobPool.end({ timeout: 1 })])
    throw error
  }
}

const volumesOf = ({ dataDirectory, databaseUrl, platform }: Config) => [
  { name: 'data', directory: dataDirectory },
  { name: 'blobs', directory: platform.blobs.directory },
  ...(databaseUrl ? [] : [{ name: 'database', directory: join(dataDirectory, 'postgres') }]),
]

function buildService(service: AnyService, kit: Kit, config: Config, built: BuiltServices['built']) {
  const needs = Object.entries((service.needs ?? {}) as Needs)
  const apis = Object.fromEntries(needs.map(([key, need]) => [key, built.get(need.name)?.api]))
  const settings = service.settings && config.read(service.settings)
  return service.build({ ...kit, settings }, apis) as BuiltService<unknown>
}
