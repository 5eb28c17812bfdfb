import type { Caller } from '../kernel/contract.ts'
import type { Log } from '../kernel/log.ts'
import { everyScope, tenantSystem } from '../kernel/permissions.ts'
import { authenticationOff } from './log-messages.ts'

/** Returns the caller of APIs without authentication: one of the tenant `default`, with every scope there and none on the platform. */
export function withoutAuthentication(
  open: 'none' | 'all' | string[],
  log: Log,
  names: string[],
): (api: string) => Caller | undefined {
  if (open === 'none') return () => undefined
  const unknown = Array.isArray(open) ? open.find((name) => !names.includes(name)) : undefined
  if (unknown) throw new Error(`WAYPOST_AUTH names ${unknown}; there are ${[...new Set(names)].join(', ')}`)
  authenticationOff(log, { apis: open })
  const anonymous: Caller = {
    tenantId: 'default',
    subject: { type: 'system', id: 'anonymous' },
    roles: [],
    permissions: [{ resource: tenantSystem, scopes: new Set([everyScope]) }],
  }
  return (api) => (open === 'all' || open.includes(api) ? anonymous : undefined)
}
