/** Stub of the command service for device journeys: keeps commands in memory. */
import { Gateway } from '../../src/gateway/contract.ts'
import type { Db } from '../../src/kernel/db.ts'
import { defineService } from '../../src/kernel/define-service.ts'
import { Commands, type OutstandingCommand } from '../../src/services/commands/contract.ts'
import { commandExtension, commandPush } from '../../src/services/commands/device.ts'

export interface Result {
  endpointId: string
  type: string
  id: number
  statusCode: number
  payload?: unknown
}

export function commandServiceStub() {
  const waiting = new Map<string, OutstandingCommand[]>()
  const results: Result[] = []
  let ids = 0
  let gateway!: Gateway
  let db!: Db
  const of = (endpointId: string) => waiting.get(endpointId) ?? []
  const commands: Commands = {
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
  return {
    service: defineService({
      name: 'commands',
      provides: Commands,
      needs: { gateway: Gateway },
      build(kit, given) {
        gateway = given.gateway
        db = kit.db
        return { api: commands, device: [commandExtension(commands, gateway)] }
      },
    }),
    results,
    /** Stores a command until its result arrives, and pushes it if the endpoint is connected. */
    async invoke(endpointId: string, type: string, payload?: unknown): Promise<number> {
      const command = { id: ++ids, type, ...(payload !== undefined && { payload }) }
      waiting.set(endpointId, [...of(endpointId), command])
      await gateway.send(db.sql, endpointId, commandPush(type, [command]))
      return command.id
    },
  }
}
