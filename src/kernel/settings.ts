/** Settings of the environment as declarations: what each is called, its kind, its default and what it means. */
import type { S3Settings } from './blobs/blobs.ts'
import type { IsProxy } from './client-address.ts'

export type Kind =
  | 'text'
  | 'port'
  | 'integer'
  | 'switch'
  | 'path'
  | 'url'
  | 'web address'
  | 'proxies'
  | 'database address'

export interface Setting {
  kind: Kind
  default: string | undefined
  meaning: string
  /** Masked in lists and messages; may also come from a file (`…_FILE`). */
  secret?: boolean
  choices?: readonly string[]
}

export type SettingTable = Record<string, Setting>

/** The value of a setting, by its kind: a number, true or false, or text. */
type ValueOf<S extends Setting> = S['kind'] extends 'port' | 'integer'
  ? number
  : S['kind'] extends 'switch'
    ? boolean
    : S['default'] extends string
      ? string
      : string | undefined

export type Values<D extends SettingTable> = { [Name in keyof D]: ValueOf<D[Name]> }

/** The settings of one service: the table is the documentation, `read` makes what the service finds as `kit.settings`. */
export interface DeclaredSettings<T> {
  readonly table: SettingTable
  read(values: never): T
}

export type SettingsOf<D> = D extends DeclaredSettings<infer T> ? T : never

/** Declared in a `settings.ts` of its own, which imports nothing else: `waypost config` reads all of them. */
export const defineSettings = <const D extends SettingTable, T>(
  table: D,
  read: (values: Values<D>) => T,
): DeclaredSettings<T> => ({ table, read: read as DeclaredSettings<T>['read'] })

/** Settings that are no single service's. */
export interface PlatformSettings {
  /** The address to listen on. */
  host: string
  /** Which addresses are proxies of ours, whose X-Forwarded-For is believed. */
  trustProxy: IsProxy
  allowPrivateAddresses: boolean
  /** What the check of a password takes: scrypt of people, bcrypt of devices. */
  passwordCost: { scrypt: { N: number; r: number; p: number }; bcryptRounds: number }
  loginLockout: { account: number; address: number; windowSeconds: number; lockSeconds: number }
  /** Where contents of any size are kept: in files, or in an S3-compatible store. */
  blobs: { directory: string; s3: S3Settings | undefined }
}

/** A mistake in the environment, said to the operator in one line. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
}
