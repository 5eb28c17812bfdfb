/**
 * Checks open connections again when credentials, a tenant or its required authentication change, and all of them after a reset.
 * Changes of tokens and endpoints are handled in bindings.ts.
 */
import type { Kit } from '../kernel/define-service.ts'
import type { Bindings } from './bindings.ts'
import type { Clients } from './clients.ts'
import { type Binding, type DeviceConnection, forgetRoutes } from './connection-state.ts'
import { type Identify, isRefused, missingMethod } from './identify.ts'
import { connectionRecheckFailed } from './log-messages.ts'
import type { Tenants } from './tenants.ts'

export interface Recheck {
  opened(connection: DeviceConnection): void
  closed(connection: DeviceConnection): void
  count(): number
}

const atOnce = 16

export function createRecheck(
  { bus, log }: Pick<Kit, 'bus' | 'log'>,
  deps: { clients: Clients; tenants: Tenants; bindings: Bindings; identify: Identify; reportAgain(): void },
): Recheck {
  const { clients, tenants, bindings, identify } = deps
  const connections = new Set<DeviceConnection>()
  const failed = (error: unknown) => connectionRecheckFailed(log, { err: error })

  clients.onEnd((which) => {
    // After a reset, `recheckAll` checks everything.
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
      if (missing) connection.close('not_authorized', 'clients have to authenticate here')
    }
  }

  tenants.onChange((tenantId) => {
    if (tenantId !== undefined) void recheckTenant(tenantId).catch(failed)
  })

  async function recheckBinding(binding: Binding) {
    const { connection, versionName, token } = binding
    if (!connection) return
    const by = { transport: connection.client.transport, authentication: connection.state.authentication }
    const topic = { versionName, token, extension: '', prefix: '' }
    for (;;) {
      const identified = await identify(topic, by)
      if (isRefused(identified)) bindings.revoke(binding, 'what let it in has ended')
      else if (!identify.isCurrent(identified)) continue
      return
    }
  }

  async function recheckClient(connection: DeviceConnection) {
    const { authentication } = connection.state
    if (!authentication) return
    const tenant = await tenants.get(authentication.tenantId)
    if (!tenant?.available || !(await authentication.isStillValid()))
      connection.close('not_authorized', 'its credentials or its tenant ended')
  }

  async function recheckAll() {
    await forEachConcurrently([...connections], recheckClient)
    await forEachConcurrently([...bindings.all()], recheckBinding)
  }
  bus.onReset(() => {
    for (const connection of connections) forgetRoutes(connection.state)
    void recheckAll().catch(failed)
    deps.reportAgain()
  })

  return {
    opened(connection) {
      connections.add(connection)
      if (clients.isStale(connection.client)) void recheckClient(connection).catch(failed)
    },
    closed: (connection) => void connections.delete(connection),
    count: () => connections.size,
  }
}

/** Runs the work for all items, a few at a time. */
async function forEachConcurrently<T>(items: T[], work: (item: T) => Promise<void>) {
  const rest = items.values()
  const worker = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
