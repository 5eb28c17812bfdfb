/**
 * The settings of commands that call the API, which are also a part of the table in config.ts. They are apart, because the settings of all
 * services take 25 ms to load, a third of such a command.
 */
import { resolve } from 'node:path'
import { type Environment, readSetting, settingPrefix } from './kernel/setting-values.ts'
import type { SettingTable } from './kernel/settings.ts'

export const commandLineSettings = {
  DATA: { kind: 'path', default: './data', meaning: 'directory of the embedded database, keys and blobs' },
  URL: {
    kind: 'web address',
    default: undefined,
    meaning: 'address of the platform for commands such as waypost endpoints list; default: that of the context',
  },
  TENANT: {
    kind: 'text',
    default: undefined,
    meaning: 'tenant of commands that use bootstrap.json: `default` (if unset) or `platform`',
  },
  API_KEY: {
    kind: 'text',
    default: undefined,
    secret: true,
    meaning: 'API key of commands such as waypost endpoints list; default: the login of the context',
  },
} as const satisfies SettingTable

type Name = keyof typeof commandLineSettings

/** Returns the settings of commands that call the API. A variable that is no setting of Waypost is an error, as for every command. */
export async function commandLineConfig(environment: Environment = process.env) {
  const known = new Set([...Object.keys(commandLineSettings), 'API_KEY_FILE'].map((name) => settingPrefix + name))
  if (Object.keys(environment).some((name) => name.startsWith(settingPrefix) && !known.has(name))) {
    const { readSettings } = await import('./config.ts')
    readSettings(environment)
  }
  const value = (name: Name) => readSetting(name, commandLineSettings[name], environment).value
  return {
    url: value('URL'),
    tenant: value('TENANT'),
    apiKey: value('API_KEY'),
    dataDirectory: resolve(value('DATA')!),
  }
}

/** Returns the folder in which the user's programs keep their configuration, if the environment names one. */
export const userFolder = (environment: Environment = process.env) => environment.XDG_CONFIG_HOME || undefined
