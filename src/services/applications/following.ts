/** What others make of configurations, as this process remembers it. */
import type { Bus } from '../../kernel/bus.ts'
import type { ConfigurationInstance } from '../../kernel/configuration.ts'
import type { Log } from '../../kernel/log.ts'
import type { Applications, ApplicationVersionRef } from './contract.ts'
import { ConfigurationChanged } from './events.ts'

const versionsMax = 10_000

export function createFollow(
  { bus, log }: { bus: Bus; log: Log },
  configuration: Applications['configuration'],
): Applications['follow'] {
  return <C, T>(instance: ConfigurationInstance<C>, read: (config: C, of: ApplicationVersionRef) => T) => {
    /** By version: their names are unique on the platform. */
    const known = new Map<string, { value: T } | Promise<T>>()
    bus.hear(ConfigurationChanged, (changed) => {
      if (changed.instance === instance.name) known.clear()
    })
    bus.onGap(() => known.clear())

    function load({ tenantId, applicationName, versionName }: ApplicationVersionRef): Promise<T> {
      const of = { tenantId, applicationName, versionName }
      if (known.size >= versionsMax) known.clear()
      const loading: Promise<T> = configuration({ ...of, instance }).then(
        ({ config, problems }) => {
          if (problems.length > 0)
            log.warn({ ...of, instance: instance.name, problems }, 'invalid parts of a configuration are ignored')
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
