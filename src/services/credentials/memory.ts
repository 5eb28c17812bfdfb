/**
 * Caches of credentials, dropped by our own events: in the process that wrote, after the commit and before the answer leaves; in
 * the others as soon as the event arrives.
 */
import type { Bus } from '../../kernel/bus.ts'
import { type Cache, createCache } from '../../kernel/cache.ts'
import {
  CredentialDeleted,
  type CredentialEvent,
  CredentialPasswordChanged,
  CredentialStateChanged,
  TenantCredentialsDeleted,
} from './events.ts'
import type { Login } from './store/basic.ts'
import type { KnownCertificate } from './store/certificates.ts'

export interface Memory {
  /** By tenant and username. */
  logins: Cache<Login>
  /** By tenant and serial number. */
  certificates: Cache<KnownCertificate>
}

/** Neither part can hold a line break. */
export const placeOf = (tenantId: string, name: string) => `${tenantId}\n${name}`

/** About 25 MB when full. */
const rowsMax = 50_000

export function createMemory(bus: Bus): Memory {
  const memory: Memory = {
    logins: createCache({ max: rowsMax, bus }),
    certificates: createCache({ max: rowsMax, bus }),
  }
  const drop = (event: CredentialEvent) =>
    event.kind === 'basic'
      ? memory.logins.drop(placeOf(event.tenantId, event.username))
      : memory.certificates.drop(placeOf(event.tenantId, event.serialNumber))
  for (const event of [CredentialPasswordChanged, CredentialDeleted]) bus.hear(event, drop)
  bus.hear(CredentialStateChanged, drop)
  bus.hear(TenantCredentialsDeleted, () => {
    memory.logins.clear()
    memory.certificates.clear()
  })
  return memory
}
