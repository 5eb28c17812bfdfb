import type { Caller } from '../kernel/contract.ts'
import type { Log } from '../kernel/log.ts'
import { everyScope, tenantSystem } from '../kernel/permissions.ts'
import { authenticationOff } from './log-messages.ts'

/** Returns a function that gives the caller of an API without authentication: it has every scope in tenant `default`, none on the platform. */
export function withoutAuthentication(
  apisWithoutAuthentication: 'none' | 'all' | string[],
  log: Log,
  names: string[],
): (api: string) => Caller | undefined {
  if (apisWithoutAuthentication === 'none') return () => undefined
  const unknown = Array.isArray(apisWithoutAuthentication)
    ? apisWithoutAuthentication.find((name) => !names.includes(name))
    : undefined
  if (unknown)
    throw new Error(`WAYPOST_AUTH contains the unknown API "${unknown}"; known APIs: ${[...new Set(names)].join(', ')}`)
  authenticationOff(log, { apis: apisWithoutAuthentication })
  const anonymous: Caller = {
    tenantId: 'default',
    subject: { type: 'system', id: 'anonymous' },
    roles: [],
    permissions: [{ resource: tenantSystem, scopes: new Set([everyScope]) }],
  }
  return (api) =>
    apisWithoutAuthentication === 'all' || apisWithoutAuthentication.includes(api) ? anonymous : undefined
}
