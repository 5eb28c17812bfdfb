/** What others make of configurations, as this process remembers it. */
import type { Bus } from '../../kernel/bus.ts'
import { createCache } from '../../kernel/cache.ts'
import type { ConfigurationInstance } from '../../kernel/configuration.ts'
import type { Log } from '../../kernel/log.ts'
import type { Applications, ApplicationVersionRef } from './contract.ts'
import { ConfigurationChanged, VersionDeleted } from './events.ts'

const versionsMax = 10_000

export function createFollow(
  { bus, log }: { bus: Bus; log: Log },
  configuration: Applications['configuration'],
): Applications['follow'] {
  return <C, T>(instance: ConfigurationInstance<C>, read: (config: C, of: ApplicationVersionRef) => T) => {
    /** By version: their names are unique on the platform. */
    const known = createCache<{ value: T; tenantId: string }>({
      max: versionsMax,
      groupOf: ({ tenantId }) => tenantId,
      bus,
    })
    bus.hear(ConfigurationChanged, (changed) => {
      if (changed.instance === instance.name) known.dropGroup(changed.tenantId)
    })
    // Another tenant may give a new version the same name.
    known.dropOn(VersionDeleted, ({ versionName }) => versionName)

    async function load({ tenantId, applicationName, versionName }: ApplicationVersionRef): Promise<T> {
      const of = { tenantId, applicationName, versionName }
      const found = await known.read(versionName, async () => {
        const { config, problems } = await configuration({ ...of, instance })
        if (problems.length > 0)
          log.warn({ ...of, instance: instance.name, problems }, 'invalid parts of a configuration are ignored')
        return { value: read(config, of), tenantId }
      })
      return found!.value
    }

    return (of) => {
      const found = known.get(of.versionName)
      return found ? found.value : load(of)
    }
  }
}
