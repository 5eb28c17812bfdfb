/**
 * Caches of credentials. The service's own events invalidate them: on the writing node after the commit and before the response, on other
 * nodes when the event arrives.
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
import type { CertificateForVerification } from './store/certificates.ts'

export interface Caches {
  /** Logins by tenant and username. */
  logins: Cache<Login>
  /** Certificates by tenant and serial number. */
  certificates: Cache<CertificateForVerification>
}

/** Returns a cache key. Neither part can contain a line break. */
export const cacheKeyOf = (tenantId: string, name: string) => `${tenantId}\n${name}`

/** Maximum number of cached rows. A full cache takes about 25 MB. */
const rowsMax = 50_000

export function createCaches(bus: Bus): Caches {
  const caches: Caches = {
    logins: createCache({ max: rowsMax, bus }),
    certificates: createCache({ max: rowsMax, bus }),
  }
  const drop = (event: CredentialEvent) =>
    event.kind === 'basic'
      ? caches.logins.drop(cacheKeyOf(event.tenantId, event.username))
      : caches.certificates.drop(cacheKeyOf(event.tenantId, event.serialNumber))
  for (const event of [CredentialPasswordChanged, CredentialDeleted]) bus.subscribe(event, drop)
  bus.subscribe(CredentialStateChanged, drop)
  bus.subscribe(TenantCredentialsDeleted, () => {
    caches.logins.clear()
    caches.certificates.clear()
  })
  return caches
}
