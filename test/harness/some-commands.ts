/** What a command service would keep, in memory: stands behind cex in journeys of devices. */
import type { Commands, Gateway, OutstandingCommand } from '../../src/gateway/contract.ts'
import { commandPush } from '../../src/gateway/contract.ts'

export interface Result {
  endpointId: string
  type: string
  id: number
  statusCode: number
  payload?: unknown
}

export function someCommands(gateway: Gateway) {
  const waiting = new Map<string, OutstandingCommand[]>()
  const results: Result[] = []
  let ids = 0
  const of = (endpointId: string) => waiting.get(endpointId) ?? []
  const cex: Commands = {
    outstanding: async ({ endpointId }, type) =>
      of(endpointId).filter((command) => type === undefined || command.type === type),
    async results({ endpointId }, type, given) {
      const known = given.filter(({ id }) => of(endpointId).some((command) => command.id === id))
      waiting.set(
        endpointId,
        of(endpointId).filter((command) => !known.some(({ id }) => id === command.id)),
      )
      results.push(...known.map((result) => ({ endpointId, type, ...result })))
      return known.length
    },
  }
  gateway.attach({ cex })
  return {
    results,
    /** Kept until it is answered, and pushed when the endpoint has a connection. */
    async invoke(endpointId: string, type: string, payload?: unknown): Promise<number> {
      const command = { id: ++ids, type, ...(payload !== undefined && { payload }) }
      waiting.set(endpointId, [...of(endpointId), command])
      await gateway.send(endpointId, commandPush(type, [command]))
      return command.id
    },
  }
}
