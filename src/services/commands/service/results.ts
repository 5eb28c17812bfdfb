/** Stores the results that devices send. Only the first result of an outstanding command counts. */
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../../kernel/device.ts'
import type { RowChange, RowWaits } from '../../../kernel/wait.ts'
import type { CommandResult } from '../contract.ts'
import { CommandResultReceived } from '../events.ts'
import * as store from '../store/invocations.ts'
import { type CommandState, groupMax, pauseMsAfter, stateKey } from './invocation.ts'
import { parsed } from './values.ts'

/** Maximum size of a group of results that is stored together with other groups. */
const sharedBytesMax = 20_000
/** Approximate size of a result without its payload. */
const rowBytes = 50

export interface ResultDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'members'>
  /** Connections for the statements that store commands and results. */
  writes: Sql
  states: RowWaits<CommandState>
  countResults(known: number, unknown: number): void
  /**
   * Called for each result before the device gets its acknowledgement. It is also called if the command is not outstanding, because another
   * node may have stored the result after this node read the command for a push.
   */
  answered(endpointId: string, type: string, commandId: number): void
}

/** One message of a device: results of commands of one type. */
export interface ResultMessage {
  type: string
  results: CommandResult[]
}

/** Stores results. Returns, for each message, how many of its results belong to outstanding commands. */
export type StoreResults = (endpoint: DeviceEndpoint, messages: ResultMessage[]) => Promise<number[]>

/** Returns a function that stores the results of an endpoint. Simultaneous calls for several endpoints share a transaction. */
export function createStoreResults(deps: ResultDeps): StoreResults {
  const shared = createBatcher((groups: store.NewResult[][]) => storeAll(deps, groups), groupMax, pauseMsAfter)
  return async ({ tenantId, endpointId }, messages) => {
    let bytes = 0
    const rowsOf = ({ type, results }: ResultMessage) =>
      results.map(({ id, statusCode, reasonPhrase = null, payload }): store.NewResult => {
        const text = payload === undefined ? null : JSON.stringify(payload)
        bytes += rowBytes + (text?.length ?? 0)
        return { tenantId, endpointId, type, commandId: id, statusCode, reasonPhrase, payload: text }
      })
    const rows = messages.map(rowsOf)
    const all = rows.flat()
    const executed = bytes > sharedBytesMax ? (await storeAll(deps, [all]))[0]! : (await shared(all))!
    for (const { type, commandId } of all) deps.answered(endpointId, type, commandId)
    deps.countResults(executed.size, all.length - executed.size)
    return rows.map((message) => message.filter((row) => executed.has(row)).length)
  }
}

/** Returns a key that identifies the command of a result. If a batch has several results of one command, only the first counts. */
const resultKey = ({ type, ...key }: store.CommandKey & { type: string }) => `${type} ${stateKey(key)}`

/** Stores the first result of each command. Returns, for each group, the results that belong to outstanding commands. */
async function storeAll(
  { kit: { db, bus, members }, writes, states }: ResultDeps,
  groups: store.NewResult[][],
): Promise<Set<store.NewResult>[]> {
  const byKey = new Map<string, store.NewResult>()
  for (const result of groups.flat()) {
    const key = resultKey(result)
    if (!byKey.has(key)) byKey.set(key, result)
  }
  const results = [...byKey.values()]
  const resultOf = (command: store.ExecutedCommand) => byKey.get(resultKey({ ...command, type: command.commandType }))!
  const changesOf = (commands: store.ExecutedCommand[]) =>
    commands.flatMap((command): RowChange<CommandState>[] => {
      if (command.waitingNode === null) return []
      const state = { status: 'EXECUTED' as const, result: resultOf(command).payload }
      return [{ id: stateKey(command), to: `node/${command.waitingNode}`, state }]
    })
  const isPublished = results.some((result) => bus.isWanted(CommandResultReceived, result))
  const groupsOf = (executed: Set<store.NewResult>) =>
    groups.map((group) => new Set(group.filter((result) => executed.has(result))))
  if (!isPublished && members.isAlone()) {
    // A single statement needs no transaction, which saves a round trip.
    const commands = await store.updateResults(writes, results, { withPayload: false })
    states.changedHere(changesOf(commands))
    return groupsOf(new Set(commands.map(resultOf)))
  }
  const executed = await db.tx(async (sql) => {
    const commands = await store.updateResults(sql, results, { withPayload: isPublished })
    await states.changed(sql, changesOf(commands))
    if (isPublished)
      await bus.publishAll(
        sql,
        CommandResultReceived,
        commands.map((command) => eventOf(command, resultOf(command))),
        { thisNodeOnly: true },
      )
    return new Set(commands.map(resultOf))
  })
  return groupsOf(executed)
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
