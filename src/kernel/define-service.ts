import type { FastifyInstance } from 'fastify'
import type { Bulk } from './bulk/bulk.ts'
import type { Bus } from './bus.ts'
import type { Clock } from './clock.ts'
import type { ConfigurationInstance } from './configuration.ts'
import type { Contract, Ctx } from './contract.ts'
import type { Db } from './db.ts'
import type { Extension } from './device.ts'
import type { Face } from './faces.ts'
import type { FileDescriptors } from './file-descriptors.ts'
import type { Http, Operation } from './http/routes.ts'
import type { NewId } from './ids.ts'
import type { Jobs } from './jobs.ts'
import type { Log } from './log.ts'
import type { Members } from './members.ts'
import type { Metrics } from './metrics.ts'
import type { PeriodicTask } from './periodic.ts'
import type { Secrets } from './secrets.ts'
import type { DeclaredSettings, PlatformSettings } from './settings.ts'
import type { Signals } from './signals.ts'

/** What every service is handed; nothing else of the outside world reaches it. */
export interface Kit<S = unknown> {
  db: Db
  bus: Bus
  /** This node and the others. */
  members: Members
  /** Messages between nodes. */
  signals: Signals
  jobs: Jobs
  bulk: Bulk
  secrets: Secrets
  metrics: Metrics
  /** The budget of connections that this process may have open. */
  descriptors: FileDescriptors
  log: Log
  now: Clock
  newId: NewId
  /** The public address, never with a slash at its end; known once the door is open, so ask when you need it. */
  baseUrl: () => string
  /** The settings that the service declares. */
  settings: S
  /** What users can configure, of all services, by name. */
  instances: ReadonlyMap<string, ConfigurationInstance>
  /** Every scope that a service declares, with the built-in roles that hold it. */
  scopes: ReadonlyMap<string, readonly string[]>
  /** Settings that are no single service's. */
  platform: PlatformSettings
  /** The platform itself as the caller, for a tenant. */
  system(tenantId: string): Ctx
}

/** One group of routes with its addresses. */
export interface HttpDoor {
  /** As in the specification's list of operations and in WAYPOST_AUTH: `application`, `tenant-v1`. */
  name: string
  /** What it serves, for the API reference. Without a title these are further addresses of a door that has one. */
  title?: string
  /** The root, then the aliases that existing clients call (document 3, "Words and roots"). */
  roots: readonly string[]
  face?: Face
  routes(http: Http): void
  /**
   * For protocols that are not JSON over our routes (OpenID Connect): registers itself on the server as it is, and
   * records what the API reference should show.
   */
  raw?(app: FastifyInstance, record: (operation: Operation) => void): void
}

export interface OpenDoors {
  /** As they stand in bootstrap.json: `{ mqttUrl: 'mqtt://127.0.0.1:1883' }`. */
  addresses: Record<string, string>
  close(): Promise<void>
}

export interface BuiltService<T> {
  api: T
  http?: HttpDoor[]
  /** What devices may talk to. */
  device?: Extension[]
  /** Opens doors beside HTTP once everything is built, for the extensions of all services. They close before all else. */
  open?(extensions: Extension[]): Promise<OpenDoors>
  periodic?: PeriodicTask[]
  /** Runs once after the migrations, before the doors open. */
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** A table of the service and its columns, by their names in the database. */
export interface ContentNames {
  table: string
  key: string
  size: string
  /** Hexadecimal. */
  sha256: string
  /** A table of one row (id = 1, mark) that says which blob store is this database's, see blobs/mark.ts. */
  mark: string
}

// biome-ignore lint/suspicious/noExplicitAny: the keys of `needs` decide, checked where they are used
export type Needs = Record<string, Contract<any>>
export type Given<N extends Needs> = { [K in keyof N]: N[K] extends Contract<infer T> ? T : never }

export interface ServiceDefinition<T, N extends Needs, S> {
  name: string
  provides: Contract<T>
  needs?: N
  /** The folder of the numbered SQL files. */
  migrations?: URL
  /** Rows that name contents of the blob store: a backup holds these contents too. */
  contents?: ContentNames
  /** From the service's settings.ts, and listed in assembly/settings.ts. */
  settings?: DeclaredSettings<S>
  /** The scopes that its operations ask for, with the built-in roles that hold each: a new one reaches every tenant at the next start. */
  scopes?: Readonly<Record<string, readonly string[]>>
  /** What users can configure for applications and tenants. */
  instances?: readonly ConfigurationInstance[]
  build(kit: Kit<S>, given: Given<N>): BuiltService<T>
}

// biome-ignore lint/suspicious/noExplicitAny: a catalogue holds services of every kind
export type AnyService = ServiceDefinition<any, any, any>

export const defineService = <T, N extends Needs = Record<never, never>, S = unknown>(
  definition: ServiceDefinition<T, N, S>,
) => definition
