/** Implements the extension `cex` (11/CEP): commands to devices and their results. */
import type { Gateway } from '../../gateway/contract.ts'
import { everyName } from '../../gateway/contract.ts'
import type { DeviceAnswer, DeviceEndpoint, Extension } from '../../kernel/device.ts'
import { checkName, optional, reasonPhrase } from '../../kernel/device-payloads.ts'
import { jsonPayload, resources } from '../../kernel/device-resources.ts'
import { InvalidRequest } from '../../kernel/errors.ts'
import { bodyLimitBytes } from '../../kernel/http/body.ts'
import { createKeyedMutex } from '../../kernel/keyed-mutex.ts'
import { AnyJson, type Static, Type } from '../../kernel/schema.ts'
import { commandIdMax, commandsText, extensionName } from './push.ts'
import { createResultQueue } from './result-queue.ts'
import type { DeviceCommands } from './service.ts'

const request = jsonPayload(Type.Object({ observe: optional.flag() }), { empty: () => ({}) })

const Result = Type.Object({
  id: Type.Integer(),
  statusCode: Type.Integer({ minimum: 100, maximum: 599 }),
  reasonPhrase: reasonPhrase(),
  payload: Type.Optional(AnyJson()),
})
// Integers above 2^53, such as nanoseconds, are rounded, as in samples. If such a result were rejected, the command would expire.
const options = { bytesMax: bodyLimitBytes, roundIntegers: true }
const readResults = jsonPayload(Type.Array(Result, { maxItems: 10_000 }), options)
const readResult = jsonPayload(Result, options)

/**
 * Parses the results in a payload: an array, or one result as an object. The text of the protocol document and all clients use an array,
 * but the schema in that document uses an object.
 */
const resultsIn = (payload: Buffer): Static<typeof Result>[] =>
  startsWith(payload, '{') ? [readResult(payload)] : readResults(payload)

/** Keeps the first result of each command. The first result finishes the command, so later results are ignored. */
const firstResults = (results: Static<typeof Result>[]) => {
  const seen = new Set<number>()
  return results.filter(({ id }) => !seen.has(id) && seen.add(id))
}

export function commandExtension(commands: DeviceCommands, gateway: Pick<Gateway, 'observe'>): Extension {
  const mutex = createKeyedMutex()
  const inOrder = mutex.run
  const storeResults = createResultQueue(commands, mutex)

  const outstanding = (endpoint: DeviceEndpoint, type: string | undefined, payload: Buffer): Promise<DeviceAnswer> => {
    const { observe } = request(payload)
    storeResults.close(endpoint)
    return inOrder(endpoint.endpointId, async () => {
      if (typeof observe === 'boolean') await gateway.observe(endpoint, extensionName, type ?? everyName, observe)
      const found = await commands.outstanding(endpoint, type)
      return {
        payload: commandsText(found, { withType: type === undefined }),
        // Without a request id, no empty list is sent, because one existing client would respond with an empty result.
        always: found.length > 0,
      }
    })
  }

  return {
    name: extensionName,
    receive: resources({
      '/command': ({ endpoint, payload }) => outstanding(endpoint, undefined, payload),
      '/command/<type>': async ({ endpoint, payload }, { type = '' }) =>
        outstanding(endpoint, checkName('type', type), payload),

      // Without a request id, no response is sent, because one existing client treats every message of cex as a command.
      '/result/<type>': async ({ endpoint, payload, requestId }, { type = '' }) => {
        checkName('type', type)
        const results = resultsIn(payload)
        const possible = firstResults(results)
          .filter(({ id }) => id > 0 && id <= commandIdMax)
          .map(({ id, statusCode, reasonPhrase, payload: value }) => ({
            id,
            statusCode,
            ...(typeof reasonPhrase === 'string' && { reasonPhrase }),
            ...(value !== undefined && { payload: value }),
          }))
        const known =
          possible.length === 0 ? 0 : await storeResults.add(endpoint, { type, results: possible }, payload.length)
        if (results.length > 0 && known === 0 && requestId !== undefined)
          throw InvalidRequest({ problem: `id: no command of type ${type} waits for ${resultsText(results)}` })
        return {}
      },
    }),

    // `catchUp` sends the pushes itself, so that a command that is invoked at this moment is pushed only once.
    async connected(endpoint) {
      await commands.catchUp(endpoint)
      return []
    },

    // From now on, other nodes can find out which node has the endpoint. `catchUp` pushes the commands that other nodes stored before this
    // moment.
    async connectivityChanged(changes) {
      await Promise.all(changes.filter(({ connected }) => connected).map(({ endpoint }) => commands.catchUp(endpoint)))
    },
  }
}

const resultsText = (results: unknown[]) => (results.length === 1 ? 'this result' : 'any of these results')

/** Returns whether the first character after white space is `character`. */
function startsWith(payload: Buffer, character: string): boolean {
  const first = payload.findIndex((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)
  return payload[first] === character.charCodeAt(0)
}
