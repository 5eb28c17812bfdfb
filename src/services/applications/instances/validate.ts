import type { ConfigurationInstance, ConfigurationProblem, Level } from '../../../kernel/configuration.ts'
import { configurationProblem } from '../../../kernel/configuration-reader.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { isObject } from '../merge-patch.ts'

type Instances = ReadonlyMap<string, ConfigurationInstance>

/** Maximum size of a configuration. It limits growth by many patches, because the HTTP server limits only single bodies. */
export const configurationBytesMax = 1024 * 1024

/** Returns the instance. Throws 400 if no instance has this name. */
export function requireInstance(instances: Instances, name: string, path: string): ConfigurationInstance {
  const instance = instances.get(name)
  if (!instance) throw invalidField(path, `there is no service instance ${name}`)
  return instance
}

/** Throws 400 with the path of the violation if the configuration does not conform to the instance's schema for this level. */
export function validateConfiguration(
  instances: Instances,
  target: { instance: string; level: Level; path: string },
  config: unknown,
): asserts config is Record<string, unknown> {
  const instance = requireInstance(instances, target.instance, target.instance)
  const acceptsAnyJson = instance.anyJsonOfVersions === true && target.level === 'version' && config !== undefined
  if (!isObject(config) && !acceptsAnyJson) throw invalidField(target.path, 'expected an object')
  if (Buffer.byteLength(JSON.stringify(config)) > configurationBytesMax)
    throw invalidField(target.path, `expected at most ${configurationBytesMax} bytes of JSON`)
  const violation = configurationProblem(instance, target.level, config as Record<string, unknown>)
  if (violation) throw problemAt(target.path, violation)
}

const problemAt = (path: string, violation: ConfigurationProblem) =>
  invalidField([path, ...violation.path].filter((part) => part !== '').join('.') || 'body', violation.problem)

/** Runs `checkNew` of the instance, which may take long. Throws 400 if it rejects the configuration. Must be called outside of a transaction. */
export async function runSlowCheck(
  instances: Instances,
  target: { tenantId: string; instance: string; path: string },
  config: unknown,
) {
  const instance = instances.get(target.instance)
  if (!instance?.checkNew || !isObject(config)) return
  const violation = await instance.checkNew(config as never, target.tenantId)
  if (violation) throw problemAt(target.path, violation)
}
