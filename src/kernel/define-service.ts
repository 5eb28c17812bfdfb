/** The definition of a service: what it declares, what it gets from the platform (`Kit`), and what it returns. */
import type { FastifyInstance } from 'fastify'
import type { Audit } from './audit/audit.ts'
import type { Bulk } from './bulk/bulk.ts'
import type { Bus } from './bus.ts'
import type { Clock } from './clock.ts'
import type { ConfigurationInstance } from './configuration.ts'
import type { Contract, Ctx } from './contract.ts'
import type { DailyQuota } from './daily-quota.ts'
import type { Db } from './db.ts'
import type { Extension } from './device.ts'
import type { DiskSpace } from './disk-space.ts'
import type { ErrorFormat } from './error-formats.ts'
import type { FileDescriptors } from './file-descriptors.ts'
import type { InternalCalls } from './http/internal-calls.ts'
import type { OperationList } from './http/operation-list.ts'
import type { Http, Operation } from './http/routes.ts'
import type { NewId } from './ids.ts'
import type { Jobs } from './jobs.ts'
import type { LimitSettings } from './limit-settings.ts'
import type { Live } from './live/live.ts'
import type { ReportLockout } from './lockout-report.ts'
import type { Log } from './log.ts'
import type { Members } from './members.ts'
import type { Metrics } from './metrics.ts'
import type { PeriodicTask } from './periodic.ts'
import type { Secrets } from './secrets.ts'
import type { DeclaredSettings, PlatformSettings, SettingInEffect } from './settings.ts'
import type { Signals } from './signals.ts'
import type { TenantLimits } from './tenant-limits.ts'
import type { Waits } from './wait.ts'

/** Everything that a service gets from the platform. */
export interface Kit<S = unknown> {
  db: Db
  bus: Bus
  /** The nodes of the platform, including this node. */
  members: Members
  /** Messages between nodes. */
  signals: Signals
  /** Topics of live streams. */
  live: Live
  /** Lets callers wait until a row changes. */
  waits: Waits
  /** Aborts with `ProcessStopping` when the process stops. */
  stopping: AbortSignal
  jobs: Jobs
  bulk: Bulk
  secrets: Secrets
  metrics: Metrics
  /** The connection limits of this process. */
  descriptors: FileDescriptors
  /** The settings of limits that several services share. */
  limits: LimitSettings
  tenantLimits: TenantLimits
  /** The quota of bytes that a tenant may store a day. */
  quota: DailyQuota
  diskSpace: DiskSpace
  /** Counts and logs a lockout that has begun. */
  reportLockout: ReportLockout
  /** The audit log; operations that change something are recorded without a call. */
  audit: Audit
  log: Log
  now: Clock
  newId: NewId
  /**
   * The public URL without a slash at its end. The URL is known only after the listeners are open, so call this function each time it is
   * needed.
   */
  baseUrl: () => string
  /** The settings that the service declares. */
  settings: S
  /** The service instances that users can configure, by name. */
  instances: ReadonlyMap<string, ConfigurationInstance>
  /** All declared scopes, with the built-in roles that hold them. */
  scopes: ReadonlyMap<string, readonly string[]>
  /** Plural nouns for scopes whose plural cannot be derived from the name, for example `VPN clients` for `vpnclient`. */
  scopeNouns: ReadonlyMap<string, string>
  /** All operations of the HTTP server. */
  operations: OperationList
  /** Calls the platform's own API with the permissions of a caller. */
  internalCalls: InternalCalls
  /** Settings that do not belong to a single service. */
  platform: PlatformSettings
  /** All settings as administrators see them, with secrets masked. */
  settingsInEffect: readonly SettingInEffect[]
  /** The version of this program. */
  version: string
  /** Returns a context with the platform itself as the caller, for a tenant. */
  system(tenantId: string): Ctx
}

/** One HTTP API: a group of routes with its root paths. */
export interface HttpApi {
  /** The name in the specification's list of operations and in WAYPOST_AUTH: `application`, `tenant-v1`. */
  name: string
  /**
   * Title of the API in the API reference. An API without a title is not listed, because its roots are additional addresses of a listed
   * API.
   */
  title?: string
  /** The first entry is the root. Further entries are aliases that existing clients use (document 3, "Words and roots"). */
  roots: readonly string[]
  errorFormat?: ErrorFormat
  /** True if callers need credentials even if WAYPOST_AUTH switches authentication off (document 1, section 5). */
  alwaysAuthenticated?: true
  routes(http: Http): void
  /**
   * Registers routes directly on the server, for protocols that are not JSON (OpenID Connect). `record` adds an operation to the API
   * reference.
   */
  raw?(app: FastifyInstance, record: (operation: Operation) => void): void
}

/** The listeners that a service has opened. */
export interface OpenListeners {
  /** Addresses as in bootstrap.json: `{ mqttUrl: 'mqtt://127.0.0.1:1883' }`. */
  addresses: Record<string, string>
  close(): Promise<void>
}

/** The result of `build`. */
export interface BuiltService<T> {
  api: T
  http?: HttpApi[]
  /** The extensions that devices can use. */
  device?: Extension[]
  /**
   * Opens listeners other than HTTP, after all services are built. `extensions` has the extensions of all services. At shutdown, these
   * listeners are closed first.
   */
  open?(extensions: Extension[]): Promise<OpenListeners>
  periodic?: PeriodicTask[]
  /** Runs once after the migrations, before the listeners open. */
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** The name of a table that references contents of the blob store, and the names of its columns. */
export interface ContentNames {
  table: string
  key: string
  size: string
  /** The column with the SHA-256 as hexadecimal digits. */
  sha256: string
  /** A table with one row (id = 1, mark) that identifies the blob store of this database; see blobs/mark.ts. */
  mark: string
}

/** A column whose texts are sealed, or whose JSON contains sealed texts. */
export interface SealedColumn {
  table: string
  column: string
  isJson?: true
}

// biome-ignore lint/suspicious/noExplicitAny: the keys of `needs` decide, checked where they are used
export type Needs = Record<string, Contract<any>>
/** The APIs of the services in `needs`, under the same names. */
export type NeededApis<N extends Needs> = { [K in keyof N]: N[K] extends Contract<infer T> ? T : never }

export interface ServiceDefinition<T, N extends Needs, S> {
  name: string
  provides: Contract<T>
  needs?: N
  /** The folder of the numbered SQL files. */
  migrations?: URL
  /** The tables whose rows reference contents of the blob store. Backups include these contents. */
  contents?: readonly ContentNames[]
  /** The columns with sealed values. A rotation of keys seals these values again. */
  sealed?: readonly SealedColumn[]
  /** The settings from the service's settings.ts. They must also be listed in assembly/settings.ts. */
  settings?: DeclaredSettings<S>
  /**
   * The scopes of the service's operations, each with the built-in roles that hold it. A scope that is new in this version is added to
   * every tenant at the next start.
   */
  scopes?: Readonly<Record<string, readonly string[]>>
  /** Plural nouns for scopes whose plural cannot be derived from the name: `{ vpnclient: 'VPN clients' }`. */
  scopeNouns?: Readonly<Record<string, string>>
  /** The service instances that users can configure for applications and tenants. */
  instances?: readonly ConfigurationInstance[]
  build(kit: Kit<S>, apis: NeededApis<N>): BuiltService<T>
}

// biome-ignore lint/suspicious/noExplicitAny: a catalogue holds services of every kind
export type AnyService = ServiceDefinition<any, any, any>

export const defineService = <T, N extends Needs = Record<never, never>, S = unknown>(
  definition: ServiceDefinition<T, N, S>,
) => definition
