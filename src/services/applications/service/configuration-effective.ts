/** Computes effective configurations from the cache. */
import type { ConfigurationInstance } from '../../../kernel/configuration.ts'
import { type ReadConfiguration, readConfiguration } from '../../../kernel/configuration-reader.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Caches, type LevelConfigurations, levelKey } from '../cache.ts'
import { invalidConfigurationIgnored } from '../log-messages.ts'
import { isObject } from '../merge-patch.ts'
import * as store from '../store.ts'

type Config = Record<string, unknown>

interface Deps {
  kit: Pick<Kit, 'db' | 'log'>
  caches: Caches
}

interface Request<C> {
  tenantId: string
  instance: ConfigurationInstance<C>
  applicationName: string
  versionName?: string
}

const emptyConfiguration: Config = Object.freeze({})

/** Returns the effective configuration of a version, or of the application if no version is given. */
export async function effectiveConfiguration<C>(
  deps: Deps,
  { tenantId, instance, applicationName, versionName }: Request<C>,
) {
  const ofApplication = (await configurationsOfLevel(deps, { tenantId, applicationName })).get(instance.name)
  const ofVersion =
    versionName === undefined
      ? undefined
      : (await configurationsOfLevel(deps, { tenantId, applicationName, versionName })).get(instance.name)
  return mergedConfiguration(instance, ofApplication, ofVersion)
}

/** Computes the effective configuration of a version from the stored configurations of its application and of the version. */
export function mergedConfiguration<C>(
  instance: ConfigurationInstance<C>,
  ofApplication: Config | undefined,
  ofVersion: Config | undefined,
): ReadConfiguration<C> {
  // Only an instance with `anyJsonOfVersions` stores a value that is not an object.
  if (ofVersion !== undefined && !isObject(ofVersion)) return { config: ofVersion as C, problems: [] }
  const stored =
    ofApplication && ofVersion ? { ...ofApplication, ...ofVersion } : (ofVersion ?? ofApplication ?? emptyConfiguration)
  return readConfiguration(instance, 'application', stored) as ReadConfiguration<C>
}

export async function effectiveTenantConfiguration<T>(
  deps: Deps,
  { tenantId, instance }: { tenantId: string; instance: ConfigurationInstance<unknown, T> },
) {
  const stored = (await configurationsOfLevel(deps, { tenantId })).get(instance.name) ?? emptyConfiguration
  const { config, problems } = readConfiguration(instance, 'tenant', stored)
  if (problems.length > 0) invalidConfigurationIgnored(deps.kit.log, { tenantId, instance: instance.name, problems })
  return config as T
}

type Level = { tenantId: string; applicationName?: string; versionName?: string }

const configurationsOfLevel = async ({ kit: { db }, caches }: Deps, level: Level) =>
  (await caches.configurations.read(levelKey(level), async () => {
    const { tenantId, applicationName, versionName } = level
    const rows =
      applicationName === undefined
        ? await store.findTenantConfigurations(db.sql, { tenantId })
        : await store.findConfigurations(db.sql, { tenantId, applicationName, versionName })
    return frozenByInstance(rows)
  })) ?? new Map<string, Config>()

/** Freezes configurations, because all callers that read them share them. */
const frozenByInstance = (rows: { instance: string; config: Config }[]): LevelConfigurations =>
  new Map(rows.map(({ instance, config }) => [instance, freeze(config)]))

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
