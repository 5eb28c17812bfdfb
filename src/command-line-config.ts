/**
 * Reads the settings of commands that call the API. These commands do not load config.ts, because loading the settings of all services takes
 * 25 ms, a third of the time of such a command.
 */
import { resolve } from 'node:path'
import { commandLineSettings } from './command-line-settings.ts'
import { type Environment, readSetting, settingPrefix } from './kernel/setting-values.ts'

type Name = keyof typeof commandLineSettings

/** Returns the settings of commands that call the API. As for every command, a `WAYPOST_` variable that is not a setting is an error. */
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

/** Returns the folder for the configuration of the user's programs, if the environment names one. */
export const userFolder = (environment: Environment = process.env) => environment.XDG_CONFIG_HOME || undefined
