import type { ConfigurationInstance, ConfigurationProblem, Level } from '../../../kernel/configuration.ts'
import { configurationProblem } from '../../../kernel/configuration-reader.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { isObject } from '../merge-patch.ts'

type Instances = ReadonlyMap<string, ConfigurationInstance>

/** Limits a configuration that grows by many patches; the HTTP server limits only single bodies. */
export const configurationBytesMax = 1024 * 1024

/** Returns the instance; 400 if there is none with this name. */
export function knownInstance(instances: Instances, name: string, path: string): ConfigurationInstance {
  const instance = instances.get(name)
  if (!instance) throw invalidField(path, `there is no service instance ${name}`)
  return instance
}

/** Throws 400 with the path of the violation if the configuration does not fit the instance's schema for this level. */
export function validateConfiguration(
  instances: Instances,
  of: { instance: string; level: Level; path: string },
  config: unknown,
): asserts config is Record<string, unknown> {
  const instance = knownInstance(instances, of.instance, of.instance)
  if (!isObject(config)) throw invalidField(of.path, 'expected an object')
  if (Buffer.byteLength(JSON.stringify(config)) > configurationBytesMax)
    throw invalidField(of.path, `expected at most ${configurationBytesMax} bytes of JSON`)
  const found = configurationProblem(instance, of.level, config)
  if (found) throw problemAt(of.path, found)
}

const problemAt = (path: string, found: ConfigurationProblem) =>
  invalidField([path, ...found.path].filter((part) => part !== '').join('.') || 'body', found.problem)

/** Throws 400 if the instance rejects a new configuration in a check that takes long. Call it outside of a transaction. */
export async function checkNewConfiguration(
  instances: Instances,
  of: { tenantId: string; instance: string; path: string },
  config: unknown,
) {
  const instance = instances.get(of.instance)
  if (!instance?.checkNew || !isObject(config)) return
  const found = await instance.checkNew(config as never, of.tenantId)
  if (found) throw problemAt(of.path, found)
}
