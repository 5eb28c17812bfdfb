/**
 * Open connections are looked at again when what let them in has ended: credentials, a tenant, what it requires of its clients, or
 * anything at all after a gap. Tokens and endpoints have their own way (bindings.ts).
 */
import type { Kit } from '../kernel/define-service.ts'
import type { Bindings } from './bindings.ts'
import type { Clients } from './clients.ts'
import { type Identify, isRefused, missingMethod } from './identify.ts'
import { type Device, forgetRoutes, type Presence } from './peers.ts'
import type { Tenants } from './tenants.ts'

export interface Recheck {
  opened(connection: Device): void
  closed(connection: Device): void
  count(): number
}

const atOnce = 16

export function createRecheck(
  { bus, log }: Pick<Kit, 'bus' | 'log'>,
  deps: { clients: Clients; tenants: Tenants; bindings: Bindings; identify: Identify; again(): void },
): Recheck {
  const { clients, tenants, bindings, identify } = deps
  const connections = new Set<Device>()
  const failed = (error: unknown) => log.error({ err: error }, 'open connections could not be looked at again')

  clients.onEnd((which) => {
    // After a gap everything is asked again, below.
    if (which === undefined) return
    for (const connection of connections) {
      const { shown } = connection.state
      if (!shown) continue
      const ended =
        'credentialId' in which ? shown.credentialIds.includes(which.credentialId) : shown.tenantId === which.tenantId
      if (ended) connection.close('not_authorized', 'its credentials were suspended, revoked or deleted')
    }
  })

  async function recheckTenant(tenantId: string) {
    const tenant = await tenants.get(tenantId)
    if (!tenant?.available) {
      for (const connection of connections)
        if (connection.state.shown?.tenantId === tenantId)
          connection.close('not_authorized', 'the tenant is not available')
      for (const presence of [...bindings.all()])
        if (presence.tenant.tenantId === tenantId) bindings.expel(presence, 'the tenant is not available')
      return
    }
    for (const presence of [...bindings.all()]) {
      const { connection } = presence
      if (!connection || presence.tenant !== tenant) continue
      const missing = missingMethod(tenant, { transport: connection.client.transport, shown: connection.state.shown })
      if (missing) connection.close('not_authorized', 'clients have to authenticate here')
    }
  }

  tenants.onChange((tenantId) => {
    if (tenantId !== undefined) void recheckTenant(tenantId).catch(failed)
  })

  async function recheckPresence(presence: Presence) {
    const { connection, versionName, token } = presence
    if (!connection) return
    const by = { transport: connection.client.transport, shown: connection.state.shown }
    const topic = { versionName, token, extension: '', prefix: '' }
    for (;;) {
      const who = await identify(topic, by)
      if (isRefused(who)) bindings.expel(presence, 'what let it in has ended')
      else if (!identify.isCurrent(who)) continue
      return
    }
  }

  async function recheckClient(connection: Device) {
    const { shown } = connection.state
    if (!shown) return
    const tenant = await tenants.get(shown.tenantId)
    if (!tenant?.available || !(await shown.holds()))
      connection.close('not_authorized', 'its credentials or its tenant ended')
  }

  async function recheckAll() {
    await inLines([...connections], recheckClient)
    await inLines([...bindings.all()], recheckPresence)
  }
  bus.onGap(() => {
    for (const connection of connections) forgetRoutes(connection.state)
    void recheckAll().catch(failed)
    deps.again()
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

/** All of them, a few at a time. */
async function inLines<T>(items: T[], work: (item: T) => Promise<void>) {
  const rest = items.values()
  const line = async () => {
    for (const item of rest) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, line))
}
