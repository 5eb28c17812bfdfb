/**
 * Reads the environment; no other code of the platform does, except command-line-config.ts. The table below and the tables of services
 * (assembly/settings.ts) define the typed configuration, the output of `waypost config`, and docs/reference/configuration.md.
 */
import { resolve } from 'node:path'
import { distance } from 'fastest-levenshtein'
import { serviceSettings } from './assembly/settings.ts'
import { commandLineSettings } from './command-line-settings.ts'
import { type IsProxy, readTrustProxy } from './kernel/client-address.ts'
import { mailSettings } from './kernel/mail-settings.ts'
import { networkSettingChecks } from './kernel/network-setting-checks.ts'
import { type Environment, originsIn, readSetting, settingPrefix } from './kernel/setting-values.ts'
import {
  ConfigurationError,
  type DeclaredSettings,
  type EffectiveSetting,
  type PlatformSettings,
  type Setting,
  type SettingTable,
  settingsInEffect,
  type Values,
} from './kernel/settings.ts'

const platform = {
  PORT: {
    kind: 'port',
    default: '8080',
    meaning:
      'port of the HTTP listener for all services, the identity provider and the API reference; 0: any free port',
  },
  HTTP_CONNECTIONS: {
    kind: 'integer',
    default: '0',
    meaning:
      'maximum number of open HTTP connections; 0: a quarter of the file descriptors of the process (ulimit -n), ' +
      'after a reserve for the database and files',
  },
  HTTP_CONNECTIONS_PER_ADDRESS: {
    kind: 'integer',
    default: '0',
    meaning:
      'maximum number of open HTTP connections from one IPv4 address or IPv6 /64, except proxies of ' +
      'WAYPOST_TRUST_PROXY; a further connection closes the oldest idle connection; 0: a quarter of WAYPOST_HTTP_CONNECTIONS',
  },
  MQTT_CONNECTIONS: {
    kind: 'integer',
    default: '0',
    meaning:
      'maximum number of open MQTT connections (TCP, TLS, WebSocket); 0: the file descriptors that the reserve and ' +
      'HTTP leave',
  },
  MANAGEMENT_PORT: {
    kind: 'port',
    default: '9090',
    meaning: 'port for health and metrics, on loopback only; 0: any free port',
  },
  HOST: { kind: 'text', default: '127.0.0.1', meaning: 'address that the HTTP and MQTT listeners use' },
  BASE_URL: {
    kind: 'web address',
    default: undefined,
    meaning: 'public address, used in Location, in links and as issuer of tokens; default: made from host and port',
  },
  TRUST_PROXY: {
    kind: 'proxies',
    default: 'off',
    meaning:
      'proxies that write X-Forwarded-For: their number (1), or their addresses and networks (10.0.0.0/8,fd00::/8); ' +
      'off: the address of a client is the address of its connection',
  },
  CORS_ORIGINS: {
    kind: 'origins',
    default: '',
    meaning:
      'origins of web pages that may call the platform for any tenant, such as https://app.example.com, separated by ' +
      'commas; *: all; origins that are registered for clients of a tenant may also call it',
  },
  ...commandLineSettings,
  DATABASE_URL: {
    kind: 'database address',
    default: undefined,
    secret: true,
    meaning:
      'PostgreSQL 15 or newer, such as postgres://user:password@host:5432/name; with several hosts ' +
      '(host1:5432,host2:5432) the host that accepts writes; default: the embedded PostgreSQL',
  },
  DATABASE_CONNECTIONS: {
    kind: 'integer',
    default: '8',
    range: [2, 10_000],
    meaning: 'maximum number of connections in the common pool of this node',
  },
  MASTER_KEY: {
    kind: 'text',
    default: undefined,
    secret: true,
    lengthMin: 32,
    meaning:
      'key that seals the secrets in the database, at least 32 characters; default: a generated file in the data ' +
      'directory',
  },
  NATS_URL: {
    kind: 'url',
    default: undefined,
    secret: true,
    meaning: 'address of NATS; reserved, not used yet: nodes exchange messages through PostgreSQL',
  },
  S3_URL: {
    kind: 'web address',
    default: undefined,
    meaning:
      'S3-compatible store for blobs, with its bucket: https://host:port/bucket or …/bucket/folder; bucket or folder ' +
      'must belong to this installation alone; default: files in the data directory',
  },
  S3_ACCESS_KEY: { kind: 'text', default: undefined, secret: true, meaning: 'access key of the S3 store' },
  S3_SECRET_KEY: { kind: 'text', default: undefined, secret: true, meaning: 'secret key of the S3 store' },
  S3_REGION: { kind: 'text', default: 'us-east-1', meaning: 'region of the S3 store' },
  ALLOW_PRIVATE_ADDRESSES: {
    kind: 'switch',
    default: 'off',
    meaning: 'on: addresses that users enter (issuers, webhooks) may be loopback or private',
  },
  AUTH: {
    kind: 'text',
    default: 'on',
    meaning:
      'off: no authentication, except in the APIs token, command, software and lorawan, which always require it; a comma-separated list ' +
      'of APIs: no authentication there',
  },
  RATE_LIMIT_PER_CREDENTIAL: {
    kind: 'integer',
    default: '5000',
    meaning: 'requests a second of one user, client or key; bursts of twice as many are accepted; 0: no limit',
  },
  RATE_LIMIT_PER_ADDRESS: {
    kind: 'integer',
    default: '10000',
    meaning: 'requests a second from one address; bursts of twice as many are accepted; 0: no limit',
  },
  LOGIN_ATTEMPTS_PER_ACCOUNT: {
    kind: 'integer',
    default: '10',
    range: [1, 1_000_000],
    meaning:
      'number of wrong passwords or secrets within five minutes that locks an account for the address they came from; ' +
      'fifty times as many failures from all addresses together lock the account for all addresses',
  },
  LOGIN_ATTEMPTS_PER_ADDRESS: {
    kind: 'integer',
    default: '100',
    range: [1, 1_000_000],
    meaning: 'number of wrong passwords or secrets within five minutes that locks an address',
  },
  LOGIN_LOCK_SECONDS: {
    kind: 'integer',
    default: '60',
    range: [1, 86_400],
    meaning: 'seconds of the first lockout; each further one within a day takes twice as long',
  },
  LOG_LEVEL: {
    kind: 'text',
    default: 'info',
    choices: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    meaning: 'lowest level that is logged',
  },
  LOG_FORMAT: {
    kind: 'text',
    default: 'auto',
    choices: ['auto', 'json', 'pretty'],
    meaning: 'format of the log; auto: readable on a terminal, JSON lines elsewhere',
  },
} as const satisfies SettingTable

/** All settings, by owner: `platform` or the name of a service. */
export const settingTables: Record<string, SettingTable> = {
  platform,
  ...Object.fromEntries(Object.entries(serviceSettings).map(([name, { table }]) => [name, table])),
}

const allSettings = joinTables(settingTables)

/** Joins the tables. Throws if two tables declare the same setting. */
export function joinTables(tables: Record<string, SettingTable>): SettingTable {
  const owners = new Map<string, string>()
  for (const [owner, table] of Object.entries(tables))
    for (const name of Object.keys(table)) {
      if (owners.has(name))
        throw new Error(`${settingPrefix}${name} is a setting of both ${owners.get(name)} and ${owner}`)
      owners.set(name, owner)
    }
  return Object.assign({}, ...Object.values(tables)) as SettingTable
}

/** Returns every setting with its origin. Throws for an unknown variable; the error names the most similar known variable. */
export function readSettings(environment: Environment = process.env): Map<string, EffectiveSetting> {
  const known = Object.entries(allSettings).flatMap(([name, { secret }]) => (secret ? [name, `${name}_FILE`] : [name]))
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith(settingPrefix) || known.includes(variable.slice(settingPrefix.length))) continue
    const nearest = nearestOf(variable.slice(settingPrefix.length), known)
    throw new ConfigurationError(`${variable} is not a setting of Waypost; the nearest is ${settingPrefix}${nearest}`)
  }
  const read = ([name, setting]: [string, Setting]) =>
    [name, readSetting(name, setting, environment, networkSettingChecks)] as const
  return new Map(Object.entries(allSettings).map(read))
}

/** Returns the most similar known name. Names that start with the typed text are preferred. */
function nearestOf(typed: string, known: string[]): string | undefined {
  const cost = (name: string) => distance(typed, name) - (name.startsWith(typed) ? typed.length : 0)
  return known.toSorted((a, b) => cost(a) - cost(b))[0]
}

function valuesOf<D extends SettingTable>(table: D, all: Map<string, EffectiveSetting>): Values<D> {
  const typed = (name: string, { kind }: Setting) => {
    const value = all.get(name)?.value
    if (kind === 'port' || kind === 'integer') return Number(value)
    if (kind === 'optional port') return value === 'off' ? undefined : Number(value)
    return kind === 'switch' ? value === 'on' : value
  }
  return Object.fromEntries(Object.entries(table).map(([name, one]) => [name, typed(name, one)])) as Values<D>
}

/** Returns the typed configuration of the program. */
export function loadConfig(environment: Environment = process.env) {
  const all = readSettings(environment)
  const value = valuesOf(platform, all)
  const dataDirectory = resolve(value.DATA)
  // `readSettings` has already validated the value.
  const trustProxy = readTrustProxy(value.TRUST_PROXY) as IsProxy
  const withoutAuthentication = parseApisWithoutAuthentication(value.AUTH)
  const serviceValues = new Map(
    Object.values(serviceSettings).map((declared) => [declared, declared.read(valuesOf(declared.table, all) as never)]),
  )
  return {
    host: value.HOST,
    port: value.PORT,
    managementPort: value.MANAGEMENT_PORT,
    baseUrl: value.BASE_URL,
    trustProxy,
    dataDirectory,
    databaseUrl: value.DATABASE_URL,
    databaseConnections: value.DATABASE_CONNECTIONS,
    connections: {
      http: value.HTTP_CONNECTIONS,
      httpPerAddress: value.HTTP_CONNECTIONS_PER_ADDRESS,
      mqtt: value.MQTT_CONNECTIONS,
    },
    masterKey: value.MASTER_KEY,
    natsUrl: value.NATS_URL,
    /** APIs for which authentication is off: `none`, `all`, or a list of their names. */
    withoutAuthentication,
    rateLimit: { perCredential: value.RATE_LIMIT_PER_CREDENTIAL, perAddress: value.RATE_LIMIT_PER_ADDRESS },
    log: { level: value.LOG_LEVEL, format: value.LOG_FORMAT as 'auto' | 'json' | 'pretty' },
    /** All settings with their values and origins, as administrators see them: secrets are masked. */
    inEffect: settingsInEffect(settingTables, all),
    /** Settings that every service may use. */
    platform: {
      host: value.HOST,
      trustProxy,
      allowPrivateAddresses: value.ALLOW_PRIVATE_ADDRESSES,
      withoutAuthentication,
      corsOrigins: originsIn(value.CORS_ORIGINS),
      // Both values follow OWASP's recommendation. They are not settings, so that they cannot be weakened. Only tests use lower values, to
      // save time.
      passwordCost: { scrypt: { N: 2 ** 14, r: 8, p: 5 }, bcryptRounds: 10 },
      loginLockout: {
        account: value.LOGIN_ATTEMPTS_PER_ACCOUNT,
        address: value.LOGIN_ATTEMPTS_PER_ADDRESS,
        windowSeconds: 300,
        lockSeconds: value.LOGIN_LOCK_SECONDS,
      },
      mail: mailSettings.read(valuesOf(mailSettings.table, all) as never),
      blobs: { directory: resolve(dataDirectory, 'blobs'), s3: s3Of(value) },
    } as PlatformSettings,
    /** Returns the settings that a service declares. */
    read<T>(declared: DeclaredSettings<T>): T {
      if (!serviceValues.has(declared))
        throw new Error(`src/assembly/settings.ts does not list the settings ${Object.keys(declared.table)}`)
      return serviceValues.get(declared) as T
    },
  }
}

export type Config = ReturnType<typeof loadConfig>

function s3Of(value: Values<typeof platform>): PlatformSettings['blobs']['s3'] {
  const { S3_URL: url, S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey, S3_REGION: region } = value
  if (url === undefined) return undefined
  const { origin, pathname } = new URL(url)
  const [bucket = '', ...folders] = pathname.split('/').filter((step) => step !== '')
  if (bucket === '')
    throw new ConfigurationError(`${settingPrefix}S3_URL has no bucket; expected https://host:port/bucket`)
  if (accessKey === undefined || secretKey === undefined)
    throw new ConfigurationError(
      `${settingPrefix}S3_URL needs ${settingPrefix}S3_ACCESS_KEY and ${settingPrefix}S3_SECRET_KEY`,
    )
  return { origin, bucket, folder: folders.join('/'), region, accessKey, secretKey }
}

const parseApisWithoutAuthentication = (value: string): 'none' | 'all' | string[] => {
  if (value === 'on') return 'none'
  if (value === 'off') return 'all'
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
