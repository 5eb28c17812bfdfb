/** 7/CMP: the protocol by which a device gets a configuration and reports that it has applied it. Several extensions use it. */
import type { DeviceAnswer, DeviceEndpoint, Extension, Push } from './device.ts'
import { checkName, optional, reasonPhrase } from './device-payloads.ts'
import { jsonPayload, resources } from './device-resources.ts'
import { defineError } from './errors.ts'
import { createKeyedMutex } from './keyed-mutex.ts'
import { Type } from './schema.ts'

export interface DeviceConfiguration {
  /** Name of the configuration; absent for the default configuration. */
  name?: string
  configId: string
  config: unknown
}

export interface DeviceConfigurations {
  /** `known` is the `configId` in the request. The device gets the configuration only if the current id differs. */
  current(
    endpoint: DeviceEndpoint,
    name: string | undefined,
    known: string | undefined,
  ): Promise<DeviceConfiguration | undefined>
  /** Records a report. Returns false if this endpoint never got a configuration with this `configId`. */
  applied(
    endpoint: DeviceEndpoint,
    report: { name?: string; configId: string; statusCode: number; reasonPhrase?: string },
  ): Promise<boolean>
  /** Returns the configurations whose current `configId` the endpoint has not applied. They are pushed when the endpoint connects. */
  outdated(endpoint: DeviceEndpoint): Promise<DeviceConfiguration[]>
}

/** Implementation for an extension without configurations. */
export const noConfigurations: DeviceConfigurations = {
  current: async () => undefined,
  applied: async () => false,
  outdated: async () => [],
}

export const UnknownConfiguration = defineError<{ configId: string }>(
  'unknown_configuration',
  404,
  'configId {configId} is not a configuration that this endpoint has to apply',
)

const readRequest = jsonPayload(Type.Object({ configId: optional.text(1024), observe: optional.flag() }), {
  empty: () => ({}),
})

const readReport = jsonPayload(
  Type.Object({
    configId: Type.String({ maxLength: 1024 }),
    statusCode: optional.integer(-2_147_483_648, 2_147_483_647),
    reasonPhrase: reasonPhrase(),
  }),
)

/** The name that stands for the default configuration. */
const defaultName = 'default'

/** Returns the name in a request, or undefined for the default configuration. A device may also use the name `default` for it. */
const configurationName = ({ name }: { name?: string | undefined }) =>
  name === undefined || name === defaultName ? undefined : checkName('name', name)

/** Adds fields that existing firmware requires; without them it ignores a configuration (document 3, 2.C). */
const payloadOf = ({ configId, config }: DeviceConfiguration) => ({
  configId,
  config,
  statusCode: 200,
  reasonPhrase: 'ok',
})

/** Returns the push of a configuration for `Gateway.send`. */
export const configurationPush = (extension: string, configuration: DeviceConfiguration): Push => {
  const { name = defaultName } = configuration
  return {
    extension,
    name,
    resourcePath: name === defaultName ? '/config/json' : `/config/json/${name}`,
    payload: payloadOf(configuration),
  }
}

/** This exact payload means that the configuration is unchanged. */
export const unchanged = {}
/** This payload means that there is no configuration. */
export const noConfiguration = payloadOf({ configId: '', config: null })

export function configurationExtension(options: {
  name: string
  configurations: DeviceConfigurations
  /** The payload if there is no configuration. */
  none: object
  observe(endpoint: DeviceEndpoint, extension: string, name: string, observed: boolean): Promise<void>
}): Extension {
  const { name: extension, configurations, none } = options
  const runInOrder = createKeyedMutex().run
  return {
    name: extension,
    receive: resources({
      '/config/json[/<name>]': async ({ endpoint, payload }, parts): Promise<DeviceAnswer> => {
        const name = configurationName(parts)
        const { configId, observe } = readRequest(payload)
        return await runInOrder(endpoint.endpointId, async () => {
          if (typeof observe === 'boolean') await options.observe(endpoint, extension, name ?? defaultName, observe)
          const current = await configurations.current(endpoint, name, configId ?? undefined)
          if (!current) return { payload: none, always: true }
          return { payload: current.configId === configId ? unchanged : payloadOf(current), always: true }
        })
      },

      '/applied/json[/<name>]': async ({ endpoint, payload, requestId }, parts): Promise<DeviceAnswer> => {
        const name = configurationName(parts)
        const { configId, statusCode, reasonPhrase } = readReport(payload)
        const applied = {
          ...(name !== undefined && { name }),
          configId,
          statusCode: statusCode ?? 200,
          ...(typeof reasonPhrase === 'string' && { reasonPhrase }),
        }
        const isKnown = await runInOrder(endpoint.endpointId, () => configurations.applied(endpoint, applied))
        // Some existing firmware reports a configuration on another extension than the one that sent the configuration. Such a report has
        // no request id and gets no error.
        if (!isKnown && requestId !== undefined) throw UnknownConfiguration({ configId })
        return {}
      },
    }),

    connected: async (endpoint) =>
      (await configurations.outdated(endpoint)).map((configuration) => configurationPush(extension, configuration)),
  }
}
