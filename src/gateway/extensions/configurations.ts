/** cmx and cmx_ota (7/CMP): one protocol, two names. */
import { type DeviceAnswer, type Extension, inOrder, type Push } from '../../kernel/device.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { Type } from '../../kernel/schema.ts'
import { configurationPayload, configurationPush, defaultConfiguration } from '../contract.ts'
import type { Attached } from './attached.ts'
import { UnknownConfiguration } from './errors.ts'
import type { Observation } from './observation.ts'
import { checkName, optional, reasonPhrase } from './payloads.ts'

const request = jsonPayload(Type.Object({ configId: optional.text(1024), observe: optional.flag() }), {
  empty: () => ({}),
})

const report = jsonPayload(
  Type.Object({
    configId: Type.String({ maxLength: 1024 }),
    statusCode: Type.Integer({ default: 200, minimum: -2_147_483_648, maximum: 2_147_483_647 }),
    reasonPhrase: reasonPhrase(),
  }),
)

/** Undefined for the default one, which a device may also call by its name. */
const nameIn = ({ name }: { name?: string | undefined }) =>
  name === undefined || name === defaultConfiguration ? undefined : checkName('name', name)

/** Nothing to say: exactly this. */
const unchanged = {}
const none = configurationPayload({ configId: '', config: null })

export function configurations(extension: 'cmx' | 'cmx_ota', attached: Attached, observation: Observation): Extension {
  const ordered = inOrder()
  return {
    name: extension,
    receive: resources({
      '/config/json[/<name>]': async ({ endpoint, payload }, parts): Promise<DeviceAnswer> => {
        const name = nameIn(parts)
        const { configId, observe } = request(payload)
        return await ordered(endpoint.endpointId, async () => {
          if (typeof observe === 'boolean')
            await observation.set(endpoint, extension, name ?? defaultConfiguration, observe)
          const current = await attached[extension]?.current(endpoint, name)
          // "No software" is no news; "no configuration" is.
          if (!current) return { payload: extension === 'cmx' ? none : unchanged, always: true }
          return { payload: current.configId === configId ? unchanged : configurationPayload(current), always: true }
        })
      },

      '/applied/json[/<name>]': async ({ endpoint, payload, requestId }, parts): Promise<DeviceAnswer> => {
        const name = nameIn(parts)
        const { configId, statusCode, reasonPhrase } = report(payload)
        const applied = {
          ...(name !== undefined && { name }),
          configId,
          statusCode,
          ...(typeof reasonPhrase === 'string' && { reasonPhrase }),
        }
        const isKnown = await ordered(
          endpoint.endpointId,
          async () => (await attached[extension]?.applied(endpoint, applied)) ?? false,
        )
        // A client of the family confirms configurations on cmx_ota; who did not ask gets no error for it.
        if (!isKnown && requestId !== undefined) throw UnknownConfiguration({ configId })
        return {}
      },
    }),

    async connected(endpoint) {
      const outdated = (await attached[extension]?.outdated(endpoint)) ?? []
      if (outdated.length === 0) return []
      const wants = await observation.of(endpoint.endpointId, extension)
      return outdated
        .filter(({ name = defaultConfiguration }) => wants(name))
        .map((configuration) => configurationPush(extension, configuration))
    },
  }
}

/** Which configuration this is; undefined when it is none. */
export function nameOfPush({ extension, resourcePath }: Push): string | undefined {
  if (extension !== 'cmx' && extension !== 'cmx_ota') return undefined
  const match = resourcePath.match(/^\/config\/json(?:\/([^/]+))?$/)
  return match ? (match[1] ?? defaultConfiguration) : undefined
}
