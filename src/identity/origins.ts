/**
 * Decides which web pages may call the platform: pages whose origin is registered for a client or for the installation (document 5, 10.8).
 */
import { monotonicMs } from '../kernel/clock.ts'
import type { Kit } from '../kernel/define-service.ts'
import { isOriginAllowed } from './clients.ts'
import type { Identity } from './contract.ts'
import type { Realms } from './realms.ts'
import { findClientOrigins } from './store/realms.ts'

/** Maximum time until a change of a client's origins applies to preflight requests. */
const refreshMs = 1000

export function createOrigins(
  { db, baseUrl, platform }: Kit,
  realms: Pick<Realms, 'get'>,
): Identity['isOriginAllowed'] {
  const ofInstallation = { webOrigins: platform.corsOrigins, redirectUris: [] }
  let loading: { clients: Promise<Registered[]>; since: number } | undefined

  /** Returns the clients of all tenants. They are cached for a second. */
  function allClients(): Promise<Registered[]> {
    if (!loading || monotonicMs() - loading.since > refreshMs) {
      const clients = findClientOrigins(db.sql)
      loading = { clients, since: monotonicMs() }
      clients.catch(() => {
        loading = undefined
      })
    }
    return loading.clients
  }

  return async (origin, tenantId) => {
    if (isOriginAllowed(baseUrl(), ofInstallation, origin)) return true
    const clients = tenantId === undefined ? await allClients() : ((await realms.get(tenantId))?.clients ?? [])
    return clients.some((client) => isOriginAllowed(baseUrl(), client, origin))
  }
}

interface Registered {
  webOrigins: string[]
  redirectUris: string[]
}
