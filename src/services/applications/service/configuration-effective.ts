/** The configurations that are in force, read from memory. */
import type { ConfigurationInstance } from '../../../kernel/configuration.ts'
import { type ReadConfiguration, readConfiguration } from '../../../kernel/configuration-reader.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type LevelConfigurations, type Memory, placeKey } from '../memory.ts'
import * as store from '../store.ts'

type Config = Record<string, unknown>

interface Deps {
  kit: Pick<Kit, 'db' | 'log'>
  memory: Memory
}

interface Asked<C> {
  tenantId: string
  instance: ConfigurationInstance<C>
  applicationName: string
  versionName?: string
}

const nothing: Config = Object.freeze({})

/** Of a version, or of the application when none is named. */
export async function effective<C>(deps: Deps, { tenantId, instance, applicationName, versionName }: Asked<C>) {
  const base = (await levelOf(deps, { tenantId, applicationName })).get(instance.name)
  const over =
    versionName === undefined
      ? undefined
      : (await levelOf(deps, { tenantId, applicationName, versionName })).get(instance.name)
  const stored = base && over ? { ...base, ...over } : (over ?? base ?? nothing)
  return readConfiguration(instance, 'application', stored) as ReadConfiguration<C>
}

export async function effectiveForTenant<T>(
  deps: Deps,
  { tenantId, instance }: { tenantId: string; instance: ConfigurationInstance<unknown, T> },
) {
  const stored = (await levelOf(deps, { tenantId })).get(instance.name) ?? nothing
  const { config, problems } = readConfiguration(instance, 'tenant', stored)
  if (problems.length > 0)
    deps.kit.log.warn({ tenantId, instance: instance.name, problems }, 'invalid parts of a configuration are ignored')
  return config as T
}

type Level = { tenantId: string; applicationName?: string; versionName?: string }

const levelOf = async ({ kit: { db }, memory }: Deps, level: Level) =>
  (await memory.configurations.read(placeKey(level), async () => {
    const { tenantId, applicationName, versionName } = level
    const rows =
      applicationName === undefined
        ? await store.findTenantConfigurations(db.sql, { tenantId })
        : await store.findConfigurations(db.sql, { tenantId, applicationName, versionName })
    return frozen(rows)
  })) ?? new Map<string, Config>()

/** Frozen, because all readers share it. */
const frozen = (rows: { instance: string; config: Config }[]): LevelConfigurations =>
  new Map(rows.map(({ instance, config }) => [instance, freeze(config)]))

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
