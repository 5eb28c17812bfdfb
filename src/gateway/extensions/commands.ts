/** cex (11/CEP): commands to the device, and what became of them. */
import { type DeviceAnswer, type DeviceEndpoint, type Extension, inOrder, type Push } from '../../kernel/device.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { InvalidRequest } from '../../kernel/errors.ts'
import { AnyJson, type Static, Type } from '../../kernel/schema.ts'
import { commandPayload, commandPush } from '../contract.ts'
import type { Attached } from './attached.ts'
import { everything, type Observation } from './observation.ts'
import { checkName, optional, reasonPhrase } from './payloads.ts'

const request = jsonPayload(Type.Object({ observe: optional.flag() }), { empty: () => ({}) })

const Result = Type.Object({
  id: Type.Integer(),
  statusCode: Type.Integer({ minimum: 100, maximum: 599 }),
  reasonPhrase: reasonPhrase(),
  payload: Type.Optional(AnyJson()),
})
const readResults = jsonPayload(Type.Array(Result, { maxItems: 10_000 }))
const readResult = jsonPayload(Result)

/** The text of the RFC and all clients say array, its schema says object: both are taken. */
const resultsIn = (payload: Buffer): Static<typeof Result>[] =>
  startsWith(payload, '{') ? [readResult(payload)] : readResults(payload)

/** The first of each command: what comes later is of a finished one. */
const firstOfEach = (results: Static<typeof Result>[]) => {
  const seen = new Set<number>()
  return results.filter(({ id }) => !seen.has(id) && seen.add(id))
}

const idMax = 2_147_483_647

export function commands(attached: Attached, observation: Observation): Extension {
  const ordered = inOrder()

  const outstanding = (endpoint: DeviceEndpoint, type: string | undefined, payload: Buffer): Promise<DeviceAnswer> => {
    const { observe } = request(payload)
    return ordered(endpoint.endpointId, async () => {
      if (typeof observe === 'boolean') await observation.set(endpoint, 'cex', type ?? everything, observe)
      const found = (await attached.cex?.outstanding(endpoint, type)) ?? []
      return {
        payload: found.map((command) => ({
          ...commandPayload(command),
          ...(type === undefined && { type: command.type }),
        })),
        // An empty list that nobody asked for would make a client of the family answer with an empty result.
        always: found.length > 0,
      }
    })
  }

  return {
    name: 'cex',
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
          possible.length === 0 ? 0 : ((await attached.cex?.results(endpoint, type, possible)) ?? 0),
        )
        if (results.length > 0 && known === 0 && requestId !== undefined)
          throw InvalidRequest({ problem: `id: no command of type ${type} waits for ${one(results)}` })
        return {}
      },
    }),

    async connected(endpoint) {
      const waiting = (await attached.cex?.outstanding(endpoint)) ?? []
      if (waiting.length === 0) return []
      const wants = await observation.of(endpoint.endpointId, 'cex')
      return [...Map.groupBy(waiting, ({ type }) => type)]
        .filter(([type]) => wants(type))
        .map(([type, ofType]) => commandPush(type, ofType))
    },
  }
}

const one = (results: unknown[]) => (results.length === 1 ? 'this result' : 'any of these results')

/** Its first character that is no white space of JSON. */
function startsWith(payload: Buffer, character: string): boolean {
  const first = payload.findIndex((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
  return payload[first] === character.charCodeAt(0)
}

/** The type of its commands; undefined when there are none in it. */
export const typeOfPush = ({ extension, resourcePath }: Push): string | undefined =>
  extension === 'cex' ? resourcePath.match(/^\/command\/([^/]+)$/)?.[1] : undefined
