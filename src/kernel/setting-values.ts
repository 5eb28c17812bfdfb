/** Reads and checks the values of settings. */
import { ConfigurationError, type EffectiveSetting, type Kind, type Setting } from './settings.ts'

export type Environment = Record<string, string | undefined>

export const settingPrefix = 'WAYPOST_'
const anyInteger = [0, 999_999_999] as const

/** Returns the text of the expected values if a value is invalid, or throws an error with a better explanation. */
type Check = (name: string, value: string) => string | undefined
export type Checks = Partial<Record<Kind, Check>>

/**
 * Reads a setting. `checks` validates kinds of settings that are not used by the commands that only call the API. These checks are in
 * `network-setting-checks.ts`, because loading them would slow down these commands.
 */
export function readSetting(
  name: string,
  setting: Setting,
  environment: Environment,
  checks: Checks = {},
): EffectiveSetting {
  const secret = setting.secret === true
  // An empty variable counts as unset, because Compose files often contain empty variables.
  const text = environment[settingPrefix + name] || undefined
  const file = (secret && environment[`${settingPrefix}${name}_FILE`]) || undefined
  if (text !== undefined && file !== undefined)
    throw new ConfigurationError(`${settingPrefix}${name} and ${settingPrefix}${name}_FILE are both set; choose one`)
  if (text !== undefined)
    return { name: settingPrefix + name, value: validated(name, setting, text, checks), origin: 'environment', secret }
  if (file !== undefined) {
    let text: string
    try {
      text = process.getBuiltinModule('node:fs').readFileSync(file, 'utf8').trim()
    } catch (error) {
      throw new ConfigurationError(`${settingPrefix}${name}_FILE: ${(error as Error).message}`)
    }
    return { name: settingPrefix + name, value: validated(name, setting, text, checks), origin: 'file', secret }
  }
  return { name: settingPrefix + name, value: setting.default, origin: 'default', secret }
}

type InvalidValue = (expected: string) => ConfigurationError

function validated(name: string, setting: Setting, value: string, checks: Checks): string {
  const invalidValue = (expected: string) =>
    new ConfigurationError(
      `${settingPrefix}${name} is ${setting.secret ? 'not valid' : JSON.stringify(value)}; expected ${expected}`,
    )
  if (setting.choices && !setting.choices.includes(value)) throw invalidValue(`one of ${setting.choices.join(', ')}`)
  if (setting.lengthMin !== undefined && value.length < setting.lengthMin)
    throw invalidValue(`at least ${setting.lengthMin} characters`)
  switch (setting.kind) {
    case 'port':
    case 'optional port':
      if (setting.kind === 'optional port' && value === 'off') return value
      if (!/^\d{1,5}$/.test(value) || Number(value) > 65535) throw invalidValue('a port from 0 to 65535')
      return value
    case 'integer':
      return validInteger(setting.range ?? anyInteger, value, invalidValue)
    case 'switch':
      if (value !== 'on' && value !== 'off') throw invalidValue('on or off')
      return value
    case 'origins':
      if (!originsIn(value).every((origin) => origin === '*' || URL.parse(origin)?.origin === origin))
        throw invalidValue(
          'origins such as https://app.example.com, in lower case and without a path, separated by commas; or *',
        )
      return value
    case 'web address':
      if (!isWebAddress(value))
        throw invalidValue('an address such as https://host:port, without user, query and fragment')
      return value.replace(/\/+$/, '')
    case 'url':
      if (!URL.canParse(value)) throw invalidValue('an address such as scheme://host:port')
      return value.replace(/\/+$/, '')
    default: {
      const expected = checks[setting.kind]?.(name, value)
      if (expected !== undefined) throw invalidValue(expected)
      return value
    }
  }
}

function validInteger([least, greatest]: readonly [number, number], value: string, invalidValue: InvalidValue): string {
  if (/^\d{1,15}$/.test(value) && Number(value) >= least && Number(value) <= greatest) return value
  throw invalidValue(`a whole number from ${least} to ${greatest}`)
}

export const originsIn = (value: string) =>
  value
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '')

function isWebAddress(value: string): boolean {
  if (!URL.canParse(value)) return false
  const { protocol, username, password, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && [username, password, search, hash].every((part) => part === '')
}
