/**
 * Caches the data of tenants that every message needs: whether the tenant is available, which authentication it requires, and a
 * generation that grows with each change. A new generation invalidates the cached routes of the tenant's devices.
 */
import type { Identity } from '../identity/contract.ts'
import { RealmStatusChanged } from '../identity/events.ts'
import type { Bus } from '../kernel/bus.ts'
import { createSingleFlight } from '../kernel/single-flight.ts'
import type { Applications } from '../services/applications/contract.ts'
import { ConfigurationChanged, VersionDeleted } from '../services/applications/events.ts'
import { TenantTokensDeleted } from '../services/tokens/events.ts'
import { gatewayInstance, type TenantConfiguration } from './configuration.ts'
import { newTraffic, type Traffic, type TrafficRate } from './rate-limits.ts'

/** The transports that a tenant's configuration distinguishes (document 3, 1.16). */
export type Transport = 'mqtt' | 'mqtts' | 'websocket' | 'http'
export type Method = 'basic' | 'x509'

export interface Tenant {
  readonly tenantId: string
  generation: number
  available: boolean
  required: Record<Transport, readonly Method[]>
  traffic: Traffic
}

export interface Tenants {
  /** Returns undefined if the tenant does not exist. */
  get(tenantId: string): Promise<Tenant | undefined>
  /** Calls the listener when a tenant has changed. After a reset it is called with undefined, because any tenant may have changed. */
  onChange(listener: (tenantId: string | undefined) => void): void
}

export function createTenants(
  bus: Bus,
  identity: Pick<Identity, 'realm'>,
  applications: Pick<Applications, 'tenantConfiguration'>,
  rate: TrafficRate,
): Tenants {
  const tenants = new Map<string, Tenant>()
  /** Tenants whose cached data is valid. */
  const upToDate = new WeakSet<Tenant>()
  /** Makes concurrent callers share one load of a tenant. */
  const loadOnce = createSingleFlight<Tenant | undefined>()
  const listeners: ((tenantId: string | undefined) => void)[] = []

  function markChanged(tenantId: string) {
    const tenant = tenants.get(tenantId)
    if (!tenant) return
    tenant.generation++
    upToDate.delete(tenant)
    for (const listener of listeners) listener(tenantId)
  }
  bus.subscribe(RealmStatusChanged, ({ tenantId, status }) => {
    const tenant = tenants.get(tenantId)
    if (tenant) tenant.available = status === 'AVAILABLE'
    markChanged(tenantId)
  })
  bus.subscribe(ConfigurationChanged, ({ tenantId, instance }) => {
    if (instance === gatewayInstance.name) markChanged(tenantId)
  })
  bus.subscribe(VersionDeleted, ({ tenantId }) => markChanged(tenantId))
  bus.subscribe(TenantTokensDeleted, ({ tenantId }) => markChanged(tenantId))
  bus.onReset(() => {
    for (const tenant of tenants.values()) {
      tenant.generation++
      upToDate.delete(tenant)
    }
    for (const listener of listeners) listener(undefined)
  })

  async function load(tenantId: string): Promise<Tenant | undefined> {
    for (;;) {
      const before = tenants.get(tenantId)?.generation
      const [realm, configuration] = await Promise.all([
        identity.realm(tenantId),
        applications.tenantConfiguration({ tenantId, instance: gatewayInstance }),
      ])
      if (!realm) return undefined
      const known = tenants.get(tenantId)
      // An event that arrived during the read is newer, so the tenant is read again.
      if (known && known.generation !== before) continue
      const tenant = known ?? newTenant(tenantId)
      tenant.available = realm.status === 'AVAILABLE'
      tenant.required = requiredOf(configuration)
      tenants.set(tenantId, tenant)
      upToDate.add(tenant)
      return tenant
    }
  }

  const newTenant = (tenantId: string): Tenant => ({
    tenantId,
    generation: 0,
    available: false,
    required: requiredOf({}),
    traffic: newTraffic(rate),
  })

  return {
    async get(tenantId) {
      const known = tenants.get(tenantId)
      return known && upToDate.has(known) ? known : loadOnce(tenantId, () => load(tenantId))
    },
    onChange: (listener) => void listeners.push(listener),
  }
}

/** Returns the required methods of each transport. A requirement on HTTP disables HTTP, which has no client authentication. */
function requiredOf({ transports }: TenantConfiguration): Tenant['required'] {
  const { tcp, tls, ws } = transports?.mqtt ?? {}
  return { mqtt: methodsOf(tcp), mqtts: methodsOf(tls), websocket: methodsOf(ws), http: methodsOf(transports?.http) }
}

const methodsOf = (transport: { [method in `${Method}-auth`]?: { required: boolean } } = {}): readonly Method[] =>
  (['basic', 'x509'] as const).filter((method) => transport[`${method}-auth`]?.required)
