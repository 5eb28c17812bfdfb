/** Stores the results that devices send. The first result of an outstanding command counts. */
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import type { RowChange, RowWaits } from '../../../kernel/wait.ts'
import type { CommandResult } from '../contract.ts'
import { CommandResultReceived } from '../events.ts'
import * as store from '../store/invocations.ts'
import { type CommandState, stateKey } from './invocation.ts'
import { parsed } from './values.ts'

const atOnce = 200
/** Larger messages are stored alone. */
const sharedBytesMax = 20_000

export interface ResultDeps {
  kit: Pick<Kit, 'db' | 'bus'>
  states: RowWaits<CommandState>
  counted(known: number, unknown: number): void
}

export type StoreResults = (endpoint: DeviceEndpoint, type: string, results: CommandResult[]) => Promise<number>

/** Returns a function that stores the results of one message; simultaneous messages share a transaction. */
export function createStoreResults(deps: ResultDeps): StoreResults {
  const shared = createBatcher((messages: store.NewResult[][]) => storeAll(deps, messages), atOnce)
  return async ({ tenantId, endpointId }, type, results) => {
    let bytes = 0
    const rows = results.map(({ id, statusCode, reasonPhrase = null, payload }): store.NewResult => {
      const text = payload === undefined ? null : JSON.stringify(payload)
      bytes += text?.length ?? 0
      return { tenantId, endpointId, type, commandId: id, statusCode, reasonPhrase, payload: text }
    })
    const known = (bytes > sharedBytesMax ? (await storeAll(deps, [rows]))[0] : await shared(rows)) ?? 0
    deps.counted(known, results.length - known)
    return known
  }
}

/** Returns for each message how many of its results belong to outstanding commands. */
async function storeAll({ kit: { db, bus }, states }: ResultDeps, messages: store.NewResult[][]): Promise<number[]> {
  const results = messages.flat()
  const byKey = new Map<string, store.NewResult>()
  for (const result of results) if (!byKey.has(stateKey(result))) byKey.set(stateKey(result), result)
  const isPublished = bus.hasSubscribers(CommandResultReceived)
  const executed = await db.tx(async (sql) => {
    const commands = await store.updateResults(sql, results, { withPayload: isPublished })
    await states.changed(
      sql,
      commands.flatMap((command): RowChange<CommandState>[] => {
        const id = stateKey(command)
        const state = { status: 'EXECUTED' as const, result: byKey.get(id)!.payload }
        return command.waitingNode === null ? [] : [{ id, to: `node/${command.waitingNode}`, state }]
      }),
    )
    if (isPublished)
      await bus.publishAll(
        sql,
        CommandResultReceived,
        commands.map((command) => eventOf(command, byKey.get(stateKey(command))!)),
        { thisNodeOnly: true },
      )
    return new Set(commands.map(stateKey))
  })
  return messages.map((message) => message.filter((result) => executed.has(stateKey(result))).length)
}

const eventOf = (
  { waitingNode: _, payload, ...command }: store.ExecutedCommand,
  { statusCode, reasonPhrase, payload: response }: store.NewResult,
) => ({
  ...command,
  ...(payload !== null && { requestPayload: parsed(payload) }),
  statusCode,
  ...(reasonPhrase !== null && { reasonPhrase }),
  ...(response !== null && { responsePayload: parsed(response) }),
})
