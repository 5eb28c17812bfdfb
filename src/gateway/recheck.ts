/**
 * Checks the affected connections again when credentials, a tenant or its required authentication change, or a certificate expires. After a
 * reset, checks all connections. A check that fails is retried. bindings.ts handles changes of tokens and endpoints.
 */
import type { Kit } from '../kernel/define-service.ts'
import type { Bindings } from './bindings.ts'
import { createCertificateExpiry } from './certificate-expiry.ts'
import type { Clients } from './clients.ts'
import { type Binding, type DeviceConnection, invalidateRoutes } from './connection-state.ts'
import { type Identify, isFailure, missingMethod } from './identify.ts'
import { connectionRecheckFailed } from './log-messages.ts'
import { createRecheckQueue } from './recheck-queue.ts'
import type { Tenants } from './tenants.ts'

export interface Recheck {
  opened(connection: DeviceConnection): void
  closed(connection: DeviceConnection): void
  count(): number
}

export function createRecheck(
  { bus, log, now, stopping }: Pick<Kit, 'bus' | 'log' | 'now' | 'stopping'>,
  deps: { clients: Clients; tenants: Tenants; bindings: Bindings; identify: Identify; reportAgain(): void },
): Recheck {
  const { clients, tenants, bindings, identify } = deps
  const connections = new Set<DeviceConnection>()
  const queue = createRecheckQueue({
    logFailure: (err, remaining, retryInMs) => connectionRecheckFailed(log, { err, remaining, retryInMs }),
    stopping,
  })

  const certificateExpiry = createCertificateExpiry(now, (connection) =>
    connection.close('not_authorized', 'its certificate has expired'),
  )

  clients.onEnd((which) => {
    // After a reset, `bus.onReset` below checks all connections.
    if (which === undefined) return
    for (const connection of connections) {
      const { authentication } = connection.state
      if (!authentication) continue
      const ended =
        'credentialId' in which
          ? authentication.credentialIds.includes(which.credentialId)
          : authentication.tenantId === which.tenantId
      if (ended) connection.close('not_authorized', 'its credentials were suspended, revoked or deleted')
    }
  })

  async function recheckTenant(tenantId: string) {
    const tenant = await tenants.get(tenantId)
    if (!tenant?.available) {
      for (const connection of connections)
        if (connection.state.authentication?.tenantId === tenantId)
          connection.close('not_authorized', 'the tenant is not available')
      for (const binding of [...bindings.all()])
        if (binding.tenant.tenantId === tenantId) bindings.revoke(binding, 'the tenant is not available')
      return
    }
    for (const binding of [...bindings.all()]) {
      const { connection } = binding
      if (!connection || binding.tenant !== tenant) continue
      const missing = missingMethod(tenant, {
        transport: connection.client.transport,
        authentication: connection.state.authentication,
      })
      if (missing) connection.close('not_authorized', 'clients must authenticate')
    }
  }

  tenants.onChange((tenantId) => {
    if (tenantId !== undefined) queue.add(`tenant ${tenantId}`, () => recheckTenant(tenantId))
  })

  async function recheckBinding(binding: Binding) {
    const { connection, versionName, token } = binding
    if (!connection) return
    const by = { transport: connection.client.transport, authentication: connection.state.authentication }
    const topic = { versionName, token, extension: '', prefix: '' }
    for (;;) {
      const identified = await identify(topic, by)
      if (isFailure(identified)) bindings.revoke(binding, 'its token, endpoint or tenant is no longer valid')
      else if (!identify.isCurrent(identified)) continue
      return
    }
  }

  async function recheckClient(connection: DeviceConnection) {
    const { authentication } = connection.state
    if (!authentication || !connections.has(connection)) return
    const tenant = await tenants.get(authentication.tenantId)
    if (!tenant?.available || !(await authentication.isStillValid()))
      connection.close('not_authorized', 'its credentials or tenant are no longer valid')
  }

  bus.onReset(() => {
    for (const connection of connections) invalidateRoutes(connection.state)
    for (const connection of connections) recheckLater(connection)
    for (const binding of bindings.all()) queue.add(binding, () => recheckBinding(binding))
    deps.reportAgain()
  })

  function recheckLater(connection: DeviceConnection) {
    if (connection.state.authentication) queue.add(connection, () => recheckClient(connection))
  }

  return {
    opened(connection) {
      connections.add(connection)
      certificateExpiry.opened(connection)
      if (clients.isStale(connection.client)) recheckLater(connection)
    },
    closed(connection) {
      connections.delete(connection)
      certificateExpiry.closed(connection)
    },
    count: () => connections.size,
  }
}
