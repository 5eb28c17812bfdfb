/** Schemas of the operations on system configurations. The four levels differ only in the path parameter and the texts. */
import { contentPage, offsetQuery } from '../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, Name, Text, Type } from '../../kernel/schema.ts'
import { defaultName, namePattern } from './schemas.ts'

/** Maximum number of characters of a system configuration. */
const configLengthMax = 262_144

const itemFields = {
  configId: Type.String({ description: 'Id of the system configuration (UUID).' }),
  name: Type.String({ description: 'Name, unique in its tenant, application, version or endpoint.' }),
  displayName: Type.Optional(Type.String({ description: 'Name for people.' })),
  config: Type.String({ description: 'The value: JSON as text.' }),
  createdAt: DateTime({ description: 'Time at which the system configuration was created, in UTC.' }),
  updatedAt: DateTime({ description: 'Time of the last change of the system configuration, in UTC.' }),
}
const Item = Type.Object(itemFields, {
  title: 'SystemConfiguration',
  description: 'A value of the platform. Devices never get it.',
})
const CurrentItem = Type.Object(
  {
    ...itemFields,
    level: Type.Enum(['TENANT', 'APPLICATION', 'APP_VERSION', 'ENDPOINT'], {
      description: 'The level at which the value was found.',
    }),
    entityId: Type.String({
      description: 'The tenant, application, version or endpoint at which the value was found.',
    }),
  },
  { title: 'CurrentSystemConfiguration', description: 'A system configuration, and where its value was found.' },
)

const body = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 255,
      pattern: namePattern,
      description: 'Name, unique in its tenant, application, version or endpoint: letters, digits, `_` and `-`.',
      examples: ['dashboard'],
    }),
    displayName: Type.Optional(Text({ description: 'Name for people.', minLength: 1 })),
    config: Type.String({
      maxLength: configLengthMax,
      description: 'The value: JSON as text.',
      examples: ['{"theme":"dark"}'],
    }),
  },
  { title: 'SystemConfigurationInput', description: 'A system configuration to store.' },
)

const levels = {
  tenants: { parameter: 'tenantId', noun: 'a tenant', text: 'Id of the tenant.' },
  applications: { parameter: 'appName', noun: 'an application', text: 'Name of the application.' },
  versions: { parameter: 'appVersionName', noun: 'an application version', text: 'Name of the application version.' },
  endpoints: { parameter: 'endpointId', noun: 'an endpoint', text: 'Id of the endpoint.' },
} as const
export type SystemLevel = keyof typeof levels

/** Returns the schemas of one level. */
export function systemSchemas(level: SystemLevel) {
  const { parameter, noun, text } = levels[level]
  const params = Type.Object({ [parameter]: Name({ description: text }) })
  const one = Type.Object({
    [parameter]: Name({ description: text }),
    configId: Name({ description: 'Id of the system configuration.' }),
  })
  const kind = noun.replace(/^an? /, '')
  const noOwner = `The ${kind} does not exist, or the caller may not read it.`
  const nothing = `The ${kind} or the system configuration does not exist, or the caller may not read it.`
  const taken = 'There is another system configuration with this name.'
  const prefix = `systemConfigurations.${level}`
  return {
    create: {
      name: `${prefix}.create`,
      summary: `Create a system configuration of ${noun}`,
      params,
      body,
      response: {
        201: Empty('The system configuration was created; `Location` holds its address, `ETag` its version.'),
      },
      fails: { 404: noOwner, 409: taken },
    },
    list: {
      name: `${prefix}.list`,
      summary: `List the system configurations of ${noun}`,
      params,
      query: Type.Object({
        name: Type.Optional(Text({ description: 'Only the configuration with exactly this name. Default: all.' })),
        ...offsetQuery(100),
      }),
      response: { 200: contentPage(Item) },
      fails: { 404: noOwner },
    },
    current: {
      name: `${prefix}.current.get`,
      summary: `Get the effective system configuration of ${noun}`,
      description:
        'Searches the level in the path, then the levels above: endpoint, application version, application, tenant. With `treeTraversalStrategy=SKIP`, only the level in the path is searched.',
      params,
      query: Type.Object({
        name: Type.String({
          minLength: 1,
          maxLength: 255,
          default: defaultName,
          description: 'Name of the system configuration. Default: default.',
        }),
        treeTraversalStrategy: Type.Optional(
          Type.Enum(['SKIP'], {
            description: 'SKIP: do not search the levels above. Default: all levels are searched.',
          }),
        ),
      }),
      response: { 200: CurrentItem, 304: Empty() },
      fails: { 404: nothing },
    },
    get: {
      name: `${prefix}.get`,
      summary: `Get a system configuration of ${noun}`,
      params: one,
      response: { 200: Item, 304: Empty() },
      fails: { 404: nothing },
    },
    update: {
      name: `${prefix}.update`,
      summary: `Replace a system configuration of ${noun}`,
      params: one,
      body,
      response: { 204: Empty('The system configuration was replaced; `ETag` holds its new version.') },
      fails: { 404: nothing, 409: taken, ...ifMatchFails },
    },
    delete: {
      name: `${prefix}.delete`,
      summary: `Delete a system configuration of ${noun}`,
      params: one,
      response: { 204: Empty() },
      fails: { 404: nothing, ...ifMatchFails },
    },
  }
}
