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

/** Returns whether a metadata key is in a list of all versions of these applications, or of the versions with these names. */
export type HasKey = (
  tenantId: string,
  applicationNames: string[],
  key: string,
  versionNames?: string[] | undefined,
) => Promise<boolean>

/** Returns a function that looks for a key in the indexed or in the counted keys. */
export const createHasKey =
  (applications: Pick<Applications, 'versionConfigurations'>, list: 'keys' | 'countedKeys'): HasKey =>
  async (tenantId, applicationNames, key, versionNames) => {
    const request = { tenantId, instance: directoryInstance, applicationNames, versionNames }
    for await (const configuration of applications.versionConfigurations(request))
      if (!settingsOf(configuration)[list].includes(key)) return false
    return true
  }
