/** Finds the subscriptions or nodes that need an event. */
import type { Interest, LiveOrigin } from './types.ts'

export interface Routing<T> {
  isEmpty(topic: string): boolean
  tenantsOf(topic: string): string[]
  add(interest: Interest, target: T): void
  remove(interest: Interest, target: T): void
  has(topic: string, origin: LiveOrigin): boolean
  /** Calls `visit` once for each target. */
  visit(topic: string, origin: LiveOrigin, visit: (target: T) => void): void
}

/** Targets of one tenant. There are three kinds of interests: all events of the tenant, of an application, or of an endpoint. */
interface Routes<T> {
  tenant: Set<T>
  application: Map<string, Set<T>>
  endpoint: Map<string, Set<T>>
}

export function createRouting<T>(): Routing<T> {
  const topics = new Map<string, Map<string, Routes<T>>>()

  function targetsOf({ topic, tenantId, kind, name }: Interest): Set<T> {
    const tenants = topics.get(topic) ?? new Map<string, Routes<T>>()
    topics.set(topic, tenants)
    const routes = tenants.get(tenantId) ?? { tenant: new Set(), application: new Map(), endpoint: new Map() }
    tenants.set(tenantId, routes)
    if (kind === 'tenant') return routes.tenant
    const targets = routes[kind].get(name) ?? new Set()
    routes[kind].set(name, targets)
    return targets
  }

  function removeEmpty({ topic, tenantId, kind, name }: Interest) {
    const tenants = topics.get(topic)!
    const routes = tenants.get(tenantId)!
    if (kind !== 'tenant' && routes[kind].get(name)?.size === 0) routes[kind].delete(name)
    if (routes.tenant.size === 0 && routes.application.size === 0 && routes.endpoint.size === 0)
      tenants.delete(tenantId)
    if (tenants.size === 0) topics.delete(topic)
  }

  return {
    isEmpty: (topic) => !topics.has(topic),
    tenantsOf: (topic) => [...(topics.get(topic)?.keys() ?? [])],
    add: (interest, target) => void targetsOf(interest).add(target),
    remove(interest, target) {
      targetsOf(interest).delete(target)
      removeEmpty(interest)
    },
    has(topic, { tenantId, applicationName, endpointId }) {
      const routes = topics.get(topic)?.get(tenantId)
      if (!routes) return false
      return (
        routes.tenant.size > 0 ||
        (endpointId !== undefined && routes.endpoint.has(endpointId)) ||
        (applicationName !== undefined && routes.application.has(applicationName))
      )
    },
    visit(topic, { tenantId, applicationName, endpointId }, visit) {
      const routes = topics.get(topic)?.get(tenantId)
      if (!routes) return
      const ofEndpoint = endpointId === undefined ? undefined : routes.endpoint.get(endpointId)
      const ofApplication = applicationName === undefined ? undefined : routes.application.get(applicationName)
      for (const target of routes.tenant) visit(target)
      if (ofEndpoint) for (const target of ofEndpoint) if (!routes.tenant.has(target)) visit(target)
      if (ofApplication)
        for (const target of ofApplication) if (!routes.tenant.has(target) && !ofEndpoint?.has(target)) visit(target)
    },
  }
}

export const keyOf = ({ topic, tenantId, kind, name }: Interest) => `${topic}\n${tenantId}\n${kind}\n${name}`

export function interestOf(key: string): Interest {
  const [topic, tenantId, kind, name] = key.split('\n') as [string, string, Interest['kind'], string]
  return { topic, tenantId, kind, name }
}
