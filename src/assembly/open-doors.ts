import type { Caller } from '../kernel/contract.ts'
import type { Log } from '../kernel/log.ts'
import { everyScope, tenantSystem } from '../kernel/permissions.ts'

/** The caller at doors whose authentication is off: of the built-in tenant `default`, with every scope there, none on the platform. */
export function openDoors(
  open: 'none' | 'all' | string[],
  log: Pick<Log, 'warn'>,
  names: string[],
): (door: string) => Caller | undefined {
  if (open === 'none') return () => undefined
  const unknown = Array.isArray(open) ? open.find((name) => !names.includes(name)) : undefined
  if (unknown) throw new Error(`WAYPOST_AUTH names ${unknown}; there are ${[...new Set(names)].join(', ')}`)
  log.warn(
    { doors: open },
    'AUTHENTICATION IS OFF (WAYPOST_AUTH): whoever reaches this address may do everything in tenant "default"',
  )
  const anybody: Caller = {
    tenantId: 'default',
    subject: { type: 'system', id: 'anonymous' },
    roles: [],
    permissions: [{ resource: tenantSystem, scopes: new Set([everyScope]) }],
  }
  return (door) => (open === 'all' || open.includes(door) ? anybody : undefined)
}
