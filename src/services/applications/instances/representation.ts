/** Converts service instances to their API representation. */
import type { ConfigurationInstance } from '../../../kernel/configuration.ts'
import { invalidField } from '../../../kernel/errors.ts'

const includable = ['appConfigurationSchema', 'appVersionConfigurationSchema']

function instanceJson(
  { schemas, name, serviceName, serviceGroup, description, urlPrefix }: ConfigurationInstance,
  include: string[],
) {
  const { application, version } = schemas
  return {
    name,
    serviceName,
    serviceGroup,
    description,
    ...(urlPrefix !== undefined && { urlPrefix }),
    appConfigurationSchemaPresent: application !== undefined,
    ...(application && include.includes('appConfigurationSchema') && { appConfigurationSchema: { ...application } }),
    appVersionConfigurationSchemaPresent: version !== undefined,
    ...(version &&
      include.includes('appVersionConfigurationSchema') && { appVersionConfigurationSchema: { ...version } }),
  }
}

/** Returns all service instances, or the named service instances, with the schemas that `include` lists. */
export function representInstances(
  instances: ReadonlyMap<string, ConfigurationInstance>,
  names: string[] | undefined,
  include: string[] = [],
) {
  const unknown = include.find((name) => !includable.includes(name))
  if (unknown !== undefined) throw invalidField('include', `expected one of ${includable.join(', ')}`)
  return [...instances.values()]
    .filter(({ name }) => names === undefined || names.includes(name))
    .map((instance) => instanceJson(instance, include))
}
