/**
 * The only reader of the environment: one table of settings makes the typed tree, the printed list (`waypost config`)
 * and the reference (docs/reference/configuration.md).
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { distance } from 'fastest-levenshtein'

type Kind = 'text' | 'port' | 'integer' | 'switch' | 'path' | 'url' | 'web address'

export interface Setting {
  kind: Kind
  default: string | undefined
  meaning: string
  secret?: boolean
  choices?: readonly string[]
}

export const settings = {
  PORT: {
    kind: 'port',
    default: '8080',
    meaning: 'HTTP: all services, identity provider, API reference; 0 is any free port',
  },
  MQTT_PORT: { kind: 'port', default: '1883', meaning: 'MQTT for devices; 0 is any free port' },
  MQTTS_PORT: {
    kind: 'port',
    default: '8883',
    meaning: 'MQTT over TLS for devices, with optional client certificates; 0 is any free port',
  },
  MQTTS_CERTIFICATE_FILE: {
    kind: 'path',
    default: undefined,
    meaning: 'PEM chain for MQTT over TLS; default: one issued by the certificate authority of the platform',
  },
  MQTTS_KEY_FILE: { kind: 'path', default: undefined, meaning: 'PEM key of that certificate' },
  MQTT_CONNECT_TIMEOUT_SECONDS: {
    kind: 'integer',
    default: '10',
    meaning: 'time that a new connection has for its CONNECT',
  },
  HTTP_CONNECTIONS: {
    kind: 'integer',
    default: '0',
    meaning:
      'HTTP connections that may be open at the same time; 0: a quarter of the file descriptors that the process may open ' +
      '(ulimit -n), without a reserve for the database and files',
  },
  MQTT_CONNECTIONS: {
    kind: 'integer',
    default: '0',
    meaning:
      'MQTT connections (TCP, TLS, WebSocket) that may be open at the same time; 0: the rest of the file descriptors',
  },
  MQTT_CONNECTIONS_PER_ADDRESS: {
    kind: 'integer',
    default: '0',
    meaning:
      'MQTT connections from one IPv4 address or IPv6 /64; 0: no limit of its own, because all devices may come through one proxy',
  },
  MQTT_STRANGERS_PER_ADDRESS: {
    kind: 'integer',
    default: '1000',
    meaning:
      'MQTT connections from one IPv4 address or IPv6 /64 that have presented neither credentials nor a valid token yet; the next one ' +
      'closes the oldest of them',
  },
  MQTT_STRANGER_SECONDS: {
    kind: 'integer',
    default: '600',
    meaning:
      'time that a connection without credentials has to name an endpoint by a valid token, before it is closed; 0 is for ever',
  },
  MQTT_QUEUED_MESSAGES: {
    kind: 'integer',
    default: '1000',
    meaning: 'messages kept for the session of a client that is away',
  },
  DEVICE_MESSAGES_PER_CONNECTION: {
    kind: 'integer',
    default: '2000',
    meaning: 'messages a second from one connection; more are read later; 0 is no limit',
  },
  DEVICE_MESSAGES_PER_TENANT: {
    kind: 'integer',
    default: '50000',
    meaning: 'messages a second from all devices of a tenant; more are read later; 0 is no limit',
  },
  TRAFFIC_LOG_PAYLOAD_BYTES: {
    kind: 'integer',
    default: '16384',
    meaning: 'longer payloads are cut in the traffic log, and marked so',
  },
  TRAFFIC_LOG_DAYS: { kind: 'integer', default: '7', meaning: 'how long the traffic log keeps its records' },
  SERIES_PER_APPLICATION: {
    kind: 'integer',
    default: '10000',
    meaning: 'time series values that an application may have; a sample with more is refused',
  },
  LIVE_SUBSCRIPTIONS: {
    kind: 'integer',
    default: '1000',
    meaning: 'how many may watch time series at the same time in this process',
  },
  LIVE_SUBSCRIPTIONS_PER_TENANT: {
    kind: 'integer',
    default: '100',
    meaning: 'how many of one tenant may watch time series at the same time in this process',
  },
  MANAGEMENT_PORT: {
    kind: 'port',
    default: '9090',
    meaning: 'health and metrics, on loopback only; 0 is any free port',
  },
  HOST: { kind: 'text', default: '127.0.0.1', meaning: 'address to listen on' },
  BASE_URL: {
    kind: 'web address',
    default: undefined,
    meaning: 'the public address, used in Location, issuers and links; default: from host and port',
  },
  TRUST_PROXY: {
    kind: 'switch',
    default: 'off',
    meaning: 'on: take the client address from X-Forwarded-For of a proxy in front',
  },
  DATA: { kind: 'path', default: './data', meaning: 'embedded database, keys, blobs' },
  DATABASE_URL: {
    kind: 'url',
    default: undefined,
    secret: true,
    meaning: 'any PostgreSQL 15 or newer; default: the embedded one',
  },
  DATABASE_CONNECTIONS: { kind: 'integer', default: '8', meaning: 'connections that this process opens at most' },
  MASTER_KEY: {
    kind: 'text',
    default: undefined,
    secret: true,
    meaning:
      'seals the secrets in the database, at least 32 characters; default: a generated file in the data directory',
  },
  NATS_URL: { kind: 'url', default: undefined, secret: true, meaning: 'NATS, for more than one node; reserved' },
  S3_URL: {
    kind: 'web address',
    default: undefined,
    meaning:
      'S3-compatible store for blobs, with its bucket: https://host:port/bucket or …/bucket/folder, which belongs to this ' +
      'installation alone; default: files in the data directory',
  },
  S3_ACCESS_KEY: { kind: 'text', default: undefined, secret: true, meaning: 'access key of that store' },
  S3_SECRET_KEY: { kind: 'text', default: undefined, secret: true, meaning: 'secret key of that store' },
  S3_REGION: { kind: 'text', default: 'us-east-1', meaning: 'region of that store, where it has any' },
  BLOB_QUOTA_MB: {
    kind: 'integer',
    default: '0',
    meaning:
      'megabytes (10^6 bytes) of files and blobs that the endpoints of one tenant may keep, unless its package says ' +
      'otherwise (`disk_size`); 0 is no limit',
  },
  SMTP_URL: { kind: 'url', default: undefined, secret: true, meaning: 'mail server for e-mail actions; reserved' },
  ALLOW_PRIVATE_ADDRESSES: {
    kind: 'switch',
    default: 'off',
    meaning: 'on: user-given addresses (issuers, webhooks) may be loopback or private',
  },
  GENERATE_APPLICATION_NAMES: {
    kind: 'switch',
    default: 'off',
    meaning: 'on: application names are generated and must not be given',
  },
  UPLOAD_TOKEN_TTL_SECONDS: {
    kind: 'integer',
    default: '3600',
    meaning: "lifetime of a device's upload token",
  },
  AUTH: {
    kind: 'text',
    default: 'on',
    meaning: 'off, or a comma-separated list of services, switches authentication off there',
  },
  RATE_LIMIT_PER_CREDENTIAL: {
    kind: 'integer',
    default: '5000',
    meaning: 'requests a second of one user, client or key on average, twice that at once; 0 is no limit',
  },
  RATE_LIMIT_PER_ADDRESS: {
    kind: 'integer',
    default: '10000',
    meaning: 'requests a second from one address on average, twice that at once; 0 is no limit',
  },
  LOGIN_ATTEMPTS_PER_ACCOUNT: {
    kind: 'integer',
    default: '10',
    meaning: 'wrong passwords or secrets in five minutes that lock an account',
  },
  LOGIN_ATTEMPTS_PER_ADDRESS: {
    kind: 'integer',
    default: '100',
    meaning: 'wrong passwords or secrets in five minutes that lock an address',
  },
  LOGIN_LOCK_SECONDS: {
    kind: 'integer',
    default: '60',
    meaning: 'first lock; each further one within a day is twice as long',
  },
  LOG_LEVEL: {
    kind: 'text',
    default: 'info',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    meaning: 'least level that is logged',
  },
  LOG_FORMAT: {
    kind: 'text',
    default: 'auto',
    choices: ['auto', 'json', 'pretty'],
    meaning: 'auto: readable on a terminal, JSON lines elsewhere',
  },
} satisfies Record<string, Setting>

type SettingName = keyof typeof settings

export interface Effective {
  name: string
  value: string | undefined
  from: 'default' | 'environment' | 'file'
  secret: boolean
}

export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}

const prefix = 'WAYPOST_'

type Environment = Record<string, string | undefined>

/** Every setting with where it came from; an unknown variable is an error that names the nearest known one. */
export function readSettings(environment: Environment = process.env): Map<SettingName, Effective> {
  const table: Record<string, Setting> = settings
  const known = Object.keys(table).flatMap((name) => (table[name]?.secret ? [name, `${name}_FILE`] : [name]))
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(prefix) || known.includes(variable.slice(prefix.length))) continue
    const nearest = nearestOf(variable.slice(prefix.length), known)
    throw new ConfigurationError(`${variable} is not a setting of Waypost; the nearest is ${prefix}${nearest}`)
  }
  return new Map(
    Object.entries(table).map(([name, setting]) => [name as SettingName, readOne(name, setting, environment)]),
  )
}

/** A name that continues what was typed is nearer than any other. */
function nearestOf(typed: string, known: string[]): string | undefined {
  const cost = (name: string) => distance(typed, name) - (name.startsWith(typed) ? typed.length : 0)
  return known.toSorted((a, b) => cost(a) - cost(b))[0]
}

function readOne(name: string, setting: Setting, environment: Environment): Effective {
  const secret = setting.secret === true
  const given = environment[prefix + name]
  const file = secret ? environment[`${prefix}${name}_FILE`] : undefined
  if (given !== undefined && file !== undefined)
    throw new ConfigurationError(`${prefix}${name} and ${prefix}${name}_FILE are both set; choose one`)
  if (given !== undefined && given !== '')
    return { name: prefix + name, value: check(name, setting, given), from: 'environment', secret }
  if (file !== undefined) {
    let text: string
    try {
      text = readFileSync(file, 'utf8').trim()
    } catch (error) {
      throw new ConfigurationError(`${prefix}${name}_FILE: ${(error as Error).message}`)
    }
    return { name: prefix + name, value: check(name, setting, text), from: 'file', secret }
  }
  return { name: prefix + name, value: setting.default, from: 'default', secret }
}

function check(name: string, setting: Setting, value: string): string {
  const wrong = (expected: string) =>
    new ConfigurationError(
      `${prefix}${name} is ${setting.secret ? 'not valid' : JSON.stringify(value)}; expected ${expected}`,
    )
  if (setting.choices && !setting.choices.includes(value)) throw wrong(`one of ${setting.choices.join(', ')}`)
  switch (setting.kind) {
    case 'port':
      if (!/^\d{1,5}$/.test(value) || Number(value) > 65535) throw wrong('a port from 0 to 65535')
      return value
    case 'integer':
      if (!/^\d{1,9}$/.test(value)) throw wrong('a whole number')
      return value
    case 'switch':
      if (value !== 'on' && value !== 'off') throw wrong('on or off')
      return value
    case 'web address':
      if (!isWebAddress(value)) throw wrong('an address such as https://host:port, without user, query and fragment')
      return value.replace(/\/+$/, '')
    case 'url':
      if (!URL.canParse(value)) throw wrong('an address such as scheme://host:port')
      return value.replace(/\/+$/, '')
    default:
      return value
  }
}

function isWebAddress(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '')
}

/** The typed tree that the program uses. */
export function loadConfig(environment: Environment = process.env) {
  const all = readSettings(environment)
  const text = (name: SettingName) => all.get(name)?.value
  const must = (name: SettingName) => text(name)!
  const integer = (name: SettingName) => Number(must(name))
  const on = (name: SettingName) => must(name) === 'on'
  return {
    host: must('HOST'),
    port: integer('PORT'),
    managementPort: integer('MANAGEMENT_PORT'),
    baseUrl: text('BASE_URL'),
    trustProxy: on('TRUST_PROXY'),
    dataDirectory: resolve(must('DATA')),
    databaseUrl: text('DATABASE_URL'),
    databaseConnections: Math.max(2, integer('DATABASE_CONNECTIONS')),
    connections: { http: integer('HTTP_CONNECTIONS'), mqtt: integer('MQTT_CONNECTIONS') },
    masterKey: text('MASTER_KEY'),
    /** Doors without authentication: all, or the named ones. */
    openDoors: openDoorsOf(must('AUTH')),
    rateLimit: { perCredential: integer('RATE_LIMIT_PER_CREDENTIAL'), perAddress: integer('RATE_LIMIT_PER_ADDRESS') },
    log: { level: must('LOG_LEVEL'), format: must('LOG_FORMAT') as 'auto' | 'json' | 'pretty' },
    service: {
      generateApplicationNames: on('GENERATE_APPLICATION_NAMES'),
      allowPrivateAddresses: on('ALLOW_PRIVATE_ADDRESSES'),
      // OWASP's advice for both, and not to be set: nobody shall weaken it. Only tests of other things do.
      passwordCost: { scrypt: { N: 2 ** 14, r: 8, p: 5 }, bcryptRounds: 10 },
      loginLockout: {
        account: integer('LOGIN_ATTEMPTS_PER_ACCOUNT'),
        address: integer('LOGIN_ATTEMPTS_PER_ADDRESS'),
        windowSeconds: 300,
        lockSeconds: integer('LOGIN_LOCK_SECONDS'),
      },
      gateway: {
        host: must('HOST'),
        mqttPort: integer('MQTT_PORT'),
        mqttsPort: integer('MQTTS_PORT'),
        certificateFile: text('MQTTS_CERTIFICATE_FILE'),
        keyFile: text('MQTTS_KEY_FILE'),
        trustProxy: on('TRUST_PROXY'),
        connectTimeoutSeconds: Math.max(1, integer('MQTT_CONNECT_TIMEOUT_SECONDS')),
        connectionsPerAddress: integer('MQTT_CONNECTIONS_PER_ADDRESS'),
        strangersPerAddress: integer('MQTT_STRANGERS_PER_ADDRESS'),
        // More would be too long for a timer, and is more than anybody waits for.
        strangerSeconds: Math.min(integer('MQTT_STRANGER_SECONDS'), 7 * 24 * 3600),
        messagesPerConnection: integer('DEVICE_MESSAGES_PER_CONNECTION'),
        messagesPerTenant: integer('DEVICE_MESSAGES_PER_TENANT'),
        queuedMessagesMax: integer('MQTT_QUEUED_MESSAGES'),
      },
      timeSeries: {
        seriesMax: integer('SERIES_PER_APPLICATION'),
        live: { inAll: integer('LIVE_SUBSCRIPTIONS'), perTenant: integer('LIVE_SUBSCRIPTIONS_PER_TENANT') },
      },
      trafficLog: {
        payloadBytesMax: integer('TRAFFIC_LOG_PAYLOAD_BYTES'),
        retentionDays: Math.max(1, integer('TRAFFIC_LOG_DAYS')),
      },
      blobs: { directory: resolve(must('DATA'), 'blobs'), s3: s3Of(text) },
      binaryData: {
        uploadTokenSeconds: Math.max(1, integer('UPLOAD_TOKEN_TTL_SECONDS')),
        quotaBytes: integer('BLOB_QUOTA_MB') * 1_000_000,
      },
    },
  }
}

export type Config = ReturnType<typeof loadConfig>

function s3Of(text: (name: SettingName) => string | undefined) {
  const [url, accessKey, secretKey] = (['S3_URL', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'] as const).map(text)
  if (url === undefined) return undefined
  const { origin, pathname } = new URL(url)
  const [bucket = '', ...folders] = pathname.split('/').filter((step) => step !== '')
  if (bucket === '') throw new ConfigurationError(`${prefix}S3_URL names no bucket; expected https://host:port/bucket`)
  if (accessKey === undefined || secretKey === undefined)
    throw new ConfigurationError(`${prefix}S3_URL needs ${prefix}S3_ACCESS_KEY and ${prefix}S3_SECRET_KEY`)
  return { origin, bucket, folder: folders.join('/'), region: text('S3_REGION')!, accessKey, secretKey }
}

const openDoorsOf = (value: string): 'none' | 'all' | string[] => {
  if (value === 'on') return 'none'
  if (value === 'off') return 'all'
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
