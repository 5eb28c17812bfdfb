/** Checks settings that need the modules of proxies and databases. Commands that only call the API do not load these modules. */
import { readTrustProxy } from './client-address.ts'
import { parseUrl } from './db/address.ts'
import { type Checks, settingPrefix } from './setting-values.ts'
import { ConfigurationError } from './settings.ts'

export const networkSettingChecks: Checks = {
  proxies(name, value) {
    if (value === 'on') throw new ConfigurationError(proxiesOnText(name))
    const read = readTrustProxy(value)
    return typeof read === 'string' ? read : undefined
  },
  'database address': (_, value) =>
    isDatabaseAddress(value) ? undefined : 'an address such as postgres://user:password@host:port/name',
}

const proxiesOnText = (name: string) =>
  `${settingPrefix}${name}=on is not enough, because clients can write X-Forwarded-For too; write how many proxies are in front ` +
  `(${settingPrefix}${name}=1), or their networks (${settingPrefix}${name}=10.0.0.0/8,fd00::/8)`

function isDatabaseAddress(value: string): boolean {
  try {
    parseUrl(value)
    return true
  } catch {
    return false
  }
}
