/**
 * Implements the device extension epmx (10/EPMP). The application configuration `epmx` can contain an allow list of keys,
 * `{"metadata-keys": {"<key>": {"write-enabled": true}}}`. Devices may read these keys, and write the keys with `write-enabled`.
 */
import type { DeviceAnswer, DeviceEndpoint, DeviceMessage, Extension } from '../../kernel/device.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { defineError } from '../../kernel/errors.ts'
import { createKeyedMutex } from '../../kernel/keyed-mutex.ts'
import { Type } from '../../kernel/schema.ts'
import type { Applications } from '../applications/contract.ts'
import { metadataInstance } from './configuration.ts'
import type { Register } from './contract.ts'
import { NoEndpoint } from './errors.ts'
import { type ConnectivityKeysOf, reservedKeys } from './metadata/connectivity-keys.ts'
import { bodyBytesMax, checkKey, type IsReserved, keysMax, type Metadata, pick } from './metadata/metadata.ts'

export const RestrictedKey = defineError<{ key: string; use: string }>(
  'restricted_metadata_key',
  403,
  'Metadata key {key} cannot be {use} by the endpoint: the platform or the configuration of instance epmx reserves it',
)

const keyList = { maxItems: keysMax, uniqueItems: true }
const readGet = jsonPayload(
  Type.Object({
    keys: Type.Optional(
      Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: Type.String(), maxItems: keysMax }),
    ),
  }),
  { empty: () => ({}), bytesMax: bodyBytesMax },
)
const readUpdate = jsonPayload(Type.Unsafe<Metadata>({ type: 'object', minProperties: 1 }), { bytesMax: bodyBytesMax })
const readKeys = jsonPayload(Type.Array(Type.String(), { minItems: 1, ...keyList }), { bytesMax: bodyBytesMax })

type AllowList = Record<string, { 'write-enabled': boolean }>

/** Returns which keys this device may read and write. */
function keyAccessOf(list: AllowList | undefined, isReserved: IsReserved) {
  const readable = (key: string) => list === undefined || Object.hasOwn(list, key)
  /** Undefined if there is no allow list; the device may then write all keys. */
  const writable = list && Object.keys(list).filter((key) => list[key]?.['write-enabled'])
  const isWritable = (key: string) => !isReserved(key) && (writable?.includes(key) ?? true)
  const check = (keys: string[], allowed: (key: string) => boolean, use: string) => {
    for (const key of keys) checkKey(key, 'payload')
    const restricted = keys.find((key) => !allowed(key))
    if (restricted !== undefined) throw RestrictedKey({ key: restricted, use })
  }
  return {
    isReserved,
    readable,
    writable,
    checkRead: (keys: string[]) => check(keys, readable, 'read'),
    checkWrite: (keys: string[]) => check(keys, isWritable, 'written'),
  }
}
type Access = ReturnType<typeof keyAccessOf>

export function endpointMetadata(
  register: Pick<Register, 'metadataOf' | 'updateMetadata'>,
  applications: Pick<Applications, 'derivedConfiguration'>,
  connectivityKeys: ConnectivityKeysOf,
): Extension {
  const runInOrder = createKeyedMutex().run
  const allowListOf = applications.derivedConfiguration(
    metadataInstance,
    (config): AllowList | undefined => config['metadata-keys'],
  )

  async function metadataOf(endpointId: string): Promise<Metadata> {
    const metadata = await register.metadataOf(endpointId)
    if (!metadata) throw NoEndpoint({ endpointId })
    return metadata
  }

  async function change(endpointId: string, change: Parameters<Register['updateMetadata']>[1]): Promise<DeviceAnswer> {
    if (!(await register.updateMetadata(endpointId, change))) throw NoEndpoint({ endpointId })
    return {}
  }

  /**
   * Returns the handler of a resource. It processes the messages of an endpoint in order. Reads wait too, so that a device reads the result
   * of its previous write.
   */
  const resource =
    <T>(
      read: (payload: Buffer) => T,
      use: (endpoint: DeviceEndpoint, access: Access, request: T) => Promise<DeviceAnswer>,
    ) =>
    async ({ endpoint, payload }: DeviceMessage) => {
      const request = read(payload)
      return await runInOrder(endpoint.endpointId, async () => {
        const list = await allowListOf(endpoint)
        const isReserved = reservedKeys(await connectivityKeys(endpoint))
        return await use(endpoint, keyAccessOf(list, isReserved), request)
      })
    }

  return {
    name: 'epmx',
    receive: resources({
      '/get/keys': resource(
        () => undefined,
        async ({ endpointId }, { readable }) => ({
          payload: Object.keys(await metadataOf(endpointId)).filter(readable),
          always: true,
        }),
      ),

      '/get': resource(readGet, async ({ endpointId }, { readable, checkRead }, { keys }) => {
        if (keys) checkRead(keys)
        const requestedKeys = keys ? new Set(keys) : undefined
        const metadata = await metadataOf(endpointId)
        return { payload: pick(metadata, (key) => readable(key) && (requestedKeys?.has(key) ?? true)), always: true }
      }),

      // Connectivity keys are ignored, so that a device can write back everything that it has read.
      '/update': resource(readUpdate, async ({ endpointId }, { writable, checkWrite, isReserved }, replace) => {
        checkWrite(Object.keys(replace).filter((key) => !isReserved(key)))
        return await change(endpointId, { replace, ...(writable && { only: writable }) })
      }),

      '/update/keys': resource(readUpdate, async ({ endpointId }, { checkWrite }, merge) => {
        checkWrite(Object.keys(merge))
        return await change(endpointId, { merge })
      }),

      '/delete/keys': resource(readKeys, async ({ endpointId }, { checkWrite }, remove) => {
        checkWrite(remove)
        return await change(endpointId, { remove })
      }),
    }),
  }
}
