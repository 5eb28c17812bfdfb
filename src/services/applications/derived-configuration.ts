/** Caches values that other services compute from configurations (`derivedConfiguration` of the contract). */
import type { Bus } from '../../kernel/bus.ts'
import { createCache } from '../../kernel/cache.ts'
import type { ConfigurationInstance } from '../../kernel/configuration.ts'
import type { Log } from '../../kernel/log.ts'
import type { Applications, ApplicationVersionRef } from './contract.ts'
import { ConfigurationChanged, VersionDeleted } from './events.ts'
import { invalidConfigurationIgnored } from './log-messages.ts'

const versionsMax = 10_000

export function createDerivedConfiguration(
  { bus, log }: { bus: Bus; log: Log },
  configuration: Applications['configuration'],
): Applications['derivedConfiguration'] {
  return <C, T>(instance: ConfigurationInstance<C>, read: (config: C, version: ApplicationVersionRef) => T) => {
    /** Entries by version name, which is unique on the platform. */
    const cache = createCache<{ value: T; tenantId: string }>({
      max: versionsMax,
      groupOf: ({ tenantId }) => tenantId,
      bus,
    })
    bus.subscribe(ConfigurationChanged, (changed) => {
      if (changed.instance === instance.name) cache.dropGroup(changed.tenantId)
    })
    // After the deletion, another tenant may create a version with the same name.
    cache.dropOn(VersionDeleted, ({ versionName }) => versionName)

    async function load({ tenantId, applicationName, versionName }: ApplicationVersionRef): Promise<T> {
      const version = { tenantId, applicationName, versionName }
      const entry = await cache.read(versionName, async () => {
        const { config, problems } = await configuration({ ...version, instance })
        if (problems.length > 0) invalidConfigurationIgnored(log, { ...version, instance: instance.name, problems })
        return { value: read(config, version), tenantId }
      })
      return entry!.value
    }

    return (version) => {
      const entry = cache.get(version.versionName)
      return entry ? entry.value : load(version)
    }
  }
}
