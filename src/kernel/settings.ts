/** Declares settings of the environment: name, kind, default and meaning. */
import type { S3Settings } from './blobs/blobs.ts'
import type { IsProxy } from './client-address.ts'

export type Kind =
  | 'text'
  | 'port'
  | 'optional port'
  | 'integer'
  | 'switch'
  | 'path'
  | 'url'
  | 'web address'
  | 'proxies'
  | 'origins'
  | 'database address'

export interface Setting {
  kind: Kind
  default: string | undefined
  meaning: string
  /** True if the value is masked in lists and messages. It can also be read from a file (`…_FILE`). */
  secret?: boolean
  choices?: readonly string[]
  /** The minimum and maximum of an integer. Default: 0 to 999,999,999. */
  range?: readonly [least: number, greatest: number]
  /** The minimum length of a text. */
  lengthMin?: number
}

/**
 * Range of settings that count days; 0 means for ever. The maximum exists because PostgreSQL cannot subtract more than some million days
 * from a date.
 */
export const daysOrForEver = [0, 36_500] as const

export type SettingTable = Record<string, Setting>

export interface EffectiveSetting {
  name: string
  value: string | undefined
  origin: 'default' | 'environment' | 'file'
  secret: boolean
}

/** A setting as administrators see it: secrets are masked. */
export interface SettingInEffect {
  name: string
  /** `platform`, or the name of a service. */
  owner: string
  value?: string
  default?: string
  origin: 'default' | 'environment' | 'file'
  secret: boolean
  meaning: string
}

const mask = '********'

/** Returns the settings of all tables with their values, in the order of names. */
export const settingsInEffect = (
  tables: Readonly<Record<string, SettingTable>>,
  values: ReadonlyMap<string, EffectiveSetting>,
): SettingInEffect[] =>
  Object.entries(tables)
    .flatMap(([owner, table]) =>
      Object.entries(table).map(([key, { default: fallback, secret = false, meaning }]): SettingInEffect => {
        const { name, value, origin } = values.get(key)!
        return {
          name,
          owner,
          ...(value !== undefined && { value: secret ? mask : value }),
          ...(fallback !== undefined && { default: fallback }),
          origin,
          secret,
          meaning,
        }
      }),
    )
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** The type of a setting's value, depending on its kind: a number, a boolean or a text. */
type ValueOf<S extends Setting> = S['kind'] extends 'port' | 'integer'
  ? number
  : S['kind'] extends 'optional port'
    ? number | undefined
    : S['kind'] extends 'switch'
      ? boolean
      : S['default'] extends string
        ? string
        : string | undefined

export type Values<D extends SettingTable> = { [Name in keyof D]: ValueOf<D[Name]> }

/** The settings of one service. The table documents them. `read` returns the object that the service gets as `kit.settings`. */
export interface DeclaredSettings<T> {
  readonly table: SettingTable
  read(values: never): T
}

export type SettingsOf<D> = D extends DeclaredSettings<infer T> ? T : never

/** Declares settings. They belong in a `settings.ts` that imports nothing else, because `waypost config` loads all of these files. */
export const defineSettings = <const D extends SettingTable, T>(
  table: D,
  read: (values: Values<D>) => T,
): DeclaredSettings<T> => ({ table, read: read as DeclaredSettings<T>['read'] })

/** Settings that do not belong to a single service. */
export interface PlatformSettings {
  /** The address to listen on. */
  host: string
  /** Returns whether an address is a proxy of this installation, whose X-Forwarded-For is trusted. */
  trustProxy: IsProxy
  allowPrivateAddresses: boolean
  /** The APIs that need no authentication. */
  withoutAuthentication: 'none' | 'all' | string[]
  /** Origins of web pages that may call the platform, for all tenants. */
  corsOrigins: string[]
  /** Cost of checking a password: scrypt for users, bcrypt for devices. */
  passwordCost: { scrypt: { N: number; r: number; p: number }; bcryptRounds: number }
  loginLockout: { account: number; address: number; windowSeconds: number; lockSeconds: number }
  /** The mail server, if there is one, and the sender of e-mails. */
  mail: { url: string | undefined; from: string | undefined }
  /** The store for contents of files and blobs: a directory, or an S3-compatible store. */
  blobs: { directory: string; s3: S3Settings | undefined }
}

/** The settings of a server certificate. Without files, the platform's own certificate authority issues the certificate for the hosts. */
export function certificateSettings(
  name: string,
  files: Record<'certificate' | 'key', string | undefined>,
  hosts: string,
) {
  const { certificate: certificateFile, key: keyFile } = files
  if ((certificateFile === undefined) !== (keyFile === undefined))
    throw new ConfigurationError(
      `WAYPOST_${name}_CERTIFICATE_FILE and WAYPOST_${name}_KEY_FILE belong together: set both or none`,
    )
  const certificateHosts = hosts
    .split(',')
    .map((host) => host.trim())
    .filter(Boolean)
  return { certificateFile, keyFile, certificateHosts }
}

/** A mistake in the environment variables. It is reported to the operator in one line. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}
