import type { AnyService, Needs } from '../kernel/define-service.ts'

/** Sorts services so that each is built after the services that it needs. Throws if services need each other. */
export function sortByNeeds(services: AnyService[]): AnyService[] {
  const byContract = new Map(services.map((service) => [service.provides.name, service]))
  const sorted: AnyService[] = []
  const visit = (service: AnyService, path: string[]) => {
    if (sorted.includes(service)) return
    if (path.includes(service.name))
      throw new Error(`services need each other in a cycle: ${[...path, service.name].join(' → ')}`)
    for (const need of Object.values((service.needs ?? {}) as Needs)) {
      const provider = byContract.get(need.name)
      if (!provider) throw new Error(`${service.name} needs ${need.name}, which no service provides`)
      visit(provider, [...path, service.name])
    }
    sorted.push(service)
  }
  for (const service of services) visit(service, [])
  return sorted
}
