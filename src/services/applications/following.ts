/** What others make of configurations, as this process remembers it. */
import type { Bus } from '../../kernel/bus.ts'
import type { Applications, ApplicationVersionRef } from './contract.ts'
import { ConfigurationChanged } from './events.ts'

const versionsMax = 10_000

export function createFollow(bus: Bus, configuration: Applications['configuration']): Applications['follow'] {
  return <T>(instance: string, read: (config: Record<string, unknown>, of: ApplicationVersionRef) => T) => {
    /** By version: their names are unique on the platform. */
    const known = new Map<string, { value: T } | Promise<T>>()
    bus.hear(ConfigurationChanged, (changed) => {
      if (changed.instance === instance) known.clear()
    })
    bus.onGap(() => known.clear())

    function load({ tenantId, applicationName, versionName }: ApplicationVersionRef): Promise<T> {
      const of = { tenantId, applicationName, versionName }
      if (known.size >= versionsMax) known.clear()
      const loading: Promise<T> = configuration({ ...of, instance }).then(
        (config) => {
          const value = read(config, of)
          // Not where it changed meanwhile.
          if (known.get(versionName) === loading) known.set(versionName, { value })
          return value
        },
        (error) => {
          if (known.get(versionName) === loading) known.delete(versionName)
          throw error
        },
      )
      known.set(versionName, loading)
      return loading
    }

    return (of) => {
      const found = known.get(of.versionName)
      if (!found) return load(of)
      return found instanceof Promise ? found : found.value
    }
  }
}
