/** Configuration of the register's instances: metadata keys that devices may use (epmx), connectivity (epl), and the directory (epr). */
import { type ConfigurationProblem, defineInstance, forApplicationAndVersion } from '../../kernel/configuration.ts'
import { defaulted, type Static, Type } from '../../kernel/schema.ts'

const metadataKey = '^[a-zA-Z0-9_]+$'
const seriesName = '^[a-zA-Z0-9_-]+$'

/** Configures the metadata keys that a device may use. Without a list, the device may use all keys. */
export const metadataInstance = defineInstance({
  name: 'epmx',
  group: 'Identity management',
  description: 'Endpoint metadata extension',
  schemas: forApplicationAndVersion(
    Type.Object({
      'metadata-keys': Type.Optional(
        Type.Unsafe<Record<string, { 'write-enabled': boolean }>>({
          type: 'object',
          propertyNames: { pattern: metadataKey, maxLength: 255 },
          additionalProperties: Type.Object({
            'write-enabled': defaulted(Type.Boolean({ description: 'The device may also write it', default: false })),
          }),
        }),
      ),
    }),
  ),
})

/** The default metadata keys of the connectivity state and of its time. */
export const defaultKeys: readonly [state: string, at: string] = ['connected', 'connectivity_ts']

const keyName = (fallback: string) =>
  defaulted(Type.String({ pattern: metadataKey, maxLength: 128, default: fallback }))

const ConnectivityShape = Type.Object({
  connectivity: Type.Optional(
    Type.Object({
      'metadata-keys': Type.Optional(
        Type.Object({ state: keyName(defaultKeys[0]), 'state-ts': keyName(defaultKeys[1]) }),
      ),
      'time-series': Type.Optional(Type.Object({ name: Type.String({ pattern: seriesName, maxLength: 255 }) })),
    }),
  ),
})

/** Rejects a configuration that gives both keys the same name. A missing name counts as its default. */
function checkConnectivityKeys(config: Static<typeof ConnectivityShape>): ConfigurationProblem | undefined {
  const { state = defaultKeys[0], 'state-ts': at = defaultKeys[1] } = config.connectivity?.['metadata-keys'] ?? {}
  if (state !== at) return undefined
  return {
    path: ['connectivity', 'metadata-keys'],
    problem: `state and state-ts need different names; both are "${state}"`,
  }
}

/** Configures the metadata keys and the time series to which the connectivity of an endpoint is written. */
export const connectivityInstance = defineInstance({
  name: 'epl',
  group: 'Communication',
  description: 'Endpoint connectivity',
  schemas: forApplicationAndVersion(ConnectivityShape),
  check: checkConnectivityKeys,
})

const metadataPath = (description: string) =>
  Type.String({ pattern: '^[a-zA-Z0-9_]+(\\.[^.]+){0,15}$', maxLength: 255, description })
const valueName = (fallback: string, description: string) =>
  defaulted(Type.String({ minLength: 1, maxLength: 255, default: fallback, description }))

/** The metadata keys by which the directory searches and sorts, unless an application chooses other keys. */
export const defaultDirectoryKeys = [
  'name',
  'displayName',
  'label',
  'serial',
  'serialNumber',
  'serial_number',
  'model',
  'imei',
  'mac',
]

/** The metadata keys for which the number of endpoints with each value is maintained, unless an application chooses other keys. */
export const defaultCountedKeys = ['model', 'type', 'firmware']

const DirectoryShape = Type.Object({
  directory: Type.Optional(
    Type.Object({
      keys: defaulted(
        Type.Array(Type.String({ pattern: metadataKey, maxLength: 128 }), {
          maxItems: 20,
          uniqueItems: true,
          default: defaultDirectoryKeys,
          description: 'Metadata keys that people search and sort endpoints by, in addition to the id',
        }),
      ),
      'counted-keys': defaulted(
        Type.Array(Type.String({ pattern: metadataKey, maxLength: 128 }), {
          maxItems: 10,
          uniqueItems: true,
          default: defaultCountedKeys,
          description:
            'Metadata keys with few different values. For these, the number of endpoints with each value is kept ready; for other keys, endpoints are counted at each request',
        }),
      ),
      place: Type.Optional(
        Type.Object({
          latitude: metadataPath('Metadata key of the latitude, or a path into its value such as location.lat'),
          longitude: metadataPath('Metadata key of the longitude, or a path into its value'),
        }),
      ),
      'place-time-series': Type.Optional(
        Type.Object({
          name: Type.String({
            pattern: seriesName,
            maxLength: 255,
            description: 'Time series whose newest point is the place of the endpoint',
          }),
          latitude: valueName('latitude', 'Name of the value with the latitude'),
          longitude: valueName('longitude', 'Name of the value with the longitude'),
        }),
      ),
    }),
  ),
})

/** Configures the directory: by which keys users can search and sort, and where endpoints are on a map. */
export const directoryInstance = defineInstance({
  name: 'epr',
  group: 'Identity management',
  description: 'Endpoint register',
  urlPrefix: '/epr',
  schemas: forApplicationAndVersion(DirectoryShape),
})

export const registerInstances = [connectivityInstance, metadataInstance, directoryInstance]
