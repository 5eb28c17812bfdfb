import type { FastifyInstance } from 'fastify'
import type { S3Settings } from './blobs/blobs.ts'
import type { Bulk } from './bulk/bulk.ts'
import type { Bus } from './bus.ts'
import type { Clock } from './clock.ts'
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
import type { Signals } from './signals.ts'

/** What every service is handed; nothing else of the outside world reaches it. */
export interface Kit {
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
  settings: Settings
  /** The platform itself as the caller, for a tenant. */
  system(tenantId: string): Ctx
}

/** What services may know of the configuration. */
export interface Settings {
  generateApplicationNames: boolean
  allowPrivateAddresses: boolean
  /** What the check of a password takes: scrypt of people, bcrypt of devices. */
  passwordCost: { scrypt: { N: number; r: number; p: number }; bcryptRounds: number }
  loginLockout: { account: number; address: number; windowSeconds: number; lockSeconds: number }
  gateway: {
    host: string
    mqttPort: number
    mqttsPort: number
    /** PEM files; without them the platform's own certificate authority issues the door's certificate. */
    certificateFile: string | undefined
    keyFile: string | undefined
    trustProxy: boolean
    connectTimeoutSeconds: number
    /** Connections from one address; 0: as many as the process may have. */
    connectionsPerAddress: number
    /** Connections that have not presented credentials or a valid token yet, from one address. */
    strangersPerAddress: number
    /** 0 is for ever. */
    strangerSeconds: number
    /** Messages a second, 0: no limit. */
    messagesPerConnection: number
    messagesPerTenant: number
    /** For each session of a client that is away. */
    queuedMessagesMax: number
  }
  trafficLog: { payloadBytesMax: number; retentionDays: number }
  timeSeries: {
    /** Values of series that an application may have. */
    seriesMax: number
    /** Who may watch points at the same time, in this process. */
    live: { inAll: number; perTenant: number }
  }
  /** Where contents of any size are kept: in files, or in an S3-compatible store. */
  blobs: { directory: string; s3: S3Settings | undefined }
  binaryData: {
    uploadTokenSeconds: number
    /** For each tenant, 0: no limit. */
    quotaBytes: number
  }
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

export interface ServiceDefinition<T, N extends Needs> {
  name: string
  provides: Contract<T>
  needs?: N
  /** The folder of the numbered SQL files. */
  migrations?: URL
  /** Rows that name contents of the blob store: a backup holds these contents too. */
  contents?: ContentNames
  build(kit: Kit, given: Given<N>): BuiltService<T>
}

// biome-ignore lint/suspicious/noExplicitAny: a catalogue holds services of every kind
export type AnyService = ServiceDefinition<any, any>

export const defineService = <T, N extends Needs = Record<never, never>>(definition: ServiceDefinition<T, N>) =>
  definition
