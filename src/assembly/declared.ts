/** Collects the service instances and scopes that services declare. */
import type { ConfigurationInstance } from '../kernel/configuration.ts'
import type { AnyService } from '../kernel/define-service.ts'

/** Returns all service instances by name, sorted. */
export function instancesOf(services: AnyService[]): ReadonlyMap<string, ConfigurationInstance> {
  const all: ConfigurationInstance[] = services.flatMap(({ instances = [] }) => instances)
  const byName = new Map<string, ConfigurationInstance>()
  for (const instance of all.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    if (byName.has(instance.name)) throw new Error(`the service instance ${instance.name} is declared twice`)
    byName.set(instance.name, instance)
  }
  return byName
}

/** Returns the plural nouns of scopes that services declare. */
export const scopeNounsOf = (services: AnyService[]): ReadonlyMap<string, string> =>
  new Map(services.flatMap(({ scopeNouns = {} }) => Object.entries(scopeNouns)) as [string, string][])

/** Returns the declarations of all services as fields of the kit. */
export const declarationsOf = (services: AnyService[]) => ({
  instances: instancesOf(services),
  scopes: scopesOf(services),
  scopeNouns: scopeNounsOf(services),
})

/** Returns all scopes with the built-in roles that hold them, sorted. */
export function scopesOf(services: AnyService[]): ReadonlyMap<string, readonly string[]> {
  const all = services.flatMap(({ scopes = {} }) => Object.entries(scopes))
  const byName = new Map<string, readonly string[]>()
  for (const [scope, holders] of all.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (byName.has(scope)) throw new Error(`the scope ${scope} is declared twice`)
    byName.set(scope, holders as readonly string[])
  }
  return byName
}
