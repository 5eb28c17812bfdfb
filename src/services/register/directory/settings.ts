/** Reads the configuration of the directory (instance `epr`). */
import type { Static } from '../../../kernel/schema.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { defaultCountedKeys, defaultDirectoryKeys, directoryInstance } from '../configuration.ts'
import type { DirectorySettings } from './document.ts'

type Configuration = typeof directoryInstance extends { types?: { application: infer C } } ? C : Static<never>

export type DirectorySettingsOf = (version: ApplicationVersionRef) => DirectorySettings | Promise<DirectorySettings>

export const createDirectorySettings = (
  applications: Pick<Applications, 'derivedConfiguration'>,
): DirectorySettingsOf => applications.derivedConfiguration(directoryInstance, settingsOf)

function settingsOf({ directory }: Configuration): DirectorySettings {
  const { keys = defaultDirectoryKeys, place, 'place-time-series': series } = directory ?? {}
  const countedKeys = directory?.['counted-keys'] ?? defaultCountedKeys
  return {
    keys,
    countedKeys,
    place: place && { latitude: place.latitude.split('.'), longitude: place.longitude.split('.') },
    series,
  }
}

const applicationsPerPage = 500

const defaults = { keys: defaultDirectoryKeys, 'counted-keys': defaultCountedKeys }

/**
 * Returns a function that checks whether a metadata key is in `list` (the indexed or the counted keys) of all versions of the given
 * applications.
 */
export const createHasKey =
  (applications: Pick<Applications, 'configurationPage'>, list: 'keys' | 'counted-keys') =>
  async (tenantId: string, applicationNames: string[], key: string): Promise<boolean> => {
    const configured = new Set<string>()
    for (let after = ''; ; ) {
      const request = {
        tenantId,
        instance: directoryInstance,
        names: applicationNames,
        after,
        limit: applicationsPerPage,
      }
      const page = await applications.configurationPage(request)
      for (const { applicationName, configurations } of page) {
        const keys = configurations.flatMap(({ directory }) => (directory ? [directory[list] ?? defaults[list]] : []))
        if (keys.some((one) => !one.includes(key))) return false
        if (keys.length > 0) configured.add(applicationName)
      }
      if (page.length < applicationsPerPage) break
      after = page.at(-1)!.applicationName
    }
    // All configured lists contain the key. An application without a configured list uses the default keys.
    return defaults[list].includes(key) || applicationNames.every((name) => configured.has(name))
  }
