/** cex (11/CEP): commands to the device, and what became of them. */
import type { Gateway } from '../../gateway/contract.ts'
import { everyName } from '../../gateway/contract.ts'
import type { DeviceAnswer, DeviceEndpoint, Extension, Push } from '../../kernel/device.ts'
import { checkName, optional, reasonPhrase } from '../../kernel/device-payloads.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { InvalidRequest } from '../../kernel/errors.ts'
import { bodyLimitBytes } from '../../kernel/http/body.ts'
import { createKeyedMutex } from '../../kernel/keyed-mutex.ts'
import { AnyJson, type Static, Type } from '../../kernel/schema.ts'
import type { Commands, OutstandingCommand } from './contract.ts'

const extension = 'cex'

const request = jsonPayload(Type.Object({ observe: optional.flag() }), { empty: () => ({}) })

const Result = Type.Object({
  id: Type.Integer(),
  statusCode: Type.Integer({ minimum: 100, maximum: 599 }),
  reasonPhrase: reasonPhrase(),
  payload: Type.Optional(AnyJson()),
})
const readResults = jsonPayload(Type.Array(Result, { maxItems: 10_000 }), { bytesMax: bodyLimitBytes })
const readResult = jsonPayload(Result, { bytesMax: bodyLimitBytes })

/** The text of the RFC and all clients say array, its schema says object: both are accepted. */
const resultsIn = (payload: Buffer): Static<typeof Result>[] =>
  startsWith(payload, '{') ? [readResult(payload)] : readResults(payload)

/** The first result of each command; a later one is about a finished command. */
const firstOfEach = (results: Static<typeof Result>[]) => {
  const seen = new Set<number>()
  return results.filter(({ id }) => !seen.has(id) && seen.add(id))
}

const idMax = 2_147_483_647

/** Commands of one type as `Gateway.send` takes them. */
export const commandPush = (type: string, commands: Omit<OutstandingCommand, 'type'>[]): Push => ({
  extension,
  name: type,
  resourcePath: `/command/${type}`,
  payload: commands.map(commandPayload),
})

const commandPayload = ({ id, payload }: Omit<OutstandingCommand, 'type'>) => ({
  id,
  ...(payload !== undefined && { payload }),
})

export function commandExtension(commands: Commands, gateway: Pick<Gateway, 'observe'>): Extension {
  const ordered = createKeyedMutex().run

  const outstanding = (endpoint: DeviceEndpoint, type: string | undefined, payload: Buffer): Promise<DeviceAnswer> => {
    const { observe } = request(payload)
    return ordered(endpoint.endpointId, async () => {
      if (typeof observe === 'boolean') await gateway.observe(endpoint, extension, type ?? everyName, observe)
      const found = await commands.outstanding(endpoint, type)
      return {
        payload: found.map((command) => ({
          ...commandPayload(command),
          ...(type === undefined && { type: command.type }),
        })),
        // One client of the family answers an unrequested empty list with an empty result.
        always: found.length > 0,
      }
    })
  }

  return {
    name: extension,
    receive: resources({
      '/command': ({ endpoint, payload }) => outstanding(endpoint, undefined, payload),
      '/command/<type>': async ({ endpoint, payload }, { type = '' }) =>
        outstanding(endpoint, checkName('type', type), payload),

      // Never answered without a request id: one client takes any message of cex for a command.
      '/result/<type>': async ({ endpoint, payload, requestId }, { type = '' }) => {
        checkName('type', type)
        const results = resultsIn(payload)
        const possible = firstOfEach(results)
          .filter(({ id }) => id >= 0 && id <= idMax)
          .map(({ id, statusCode, reasonPhrase, payload: value }) => ({
            id,
            statusCode,
            ...(typeof reasonPhrase === 'string' && { reasonPhrase }),
            ...(value !== undefined && { payload: value }),
          }))
        const known = await ordered(endpoint.endpointId, async () =>
          possible.length === 0 ? 0 : await commands.results(endpoint, type, possible),
        )
        if (results.length > 0 && known === 0 && requestId !== undefined)
          throw InvalidRequest({ problem: `id: no command of type ${type} waits for ${one(results)}` })
        return {}
      },
    }),

    async connected(endpoint) {
      const waiting = await commands.outstanding(endpoint)
      return [...Map.groupBy(waiting, ({ type }) => type)].map(([type, ofType]) => commandPush(type, ofType))
    },
  }
}

const one = (results: unknown[]) => (results.length === 1 ? 'this result' : 'any of these results')

/** Whether this is its first character that is no white space of JSON. */
function startsWith(payload: Buffer, character: string): boolean {
  const first = payload.findIndex((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
  return payload[first] === character.charCodeAt(0)
}
