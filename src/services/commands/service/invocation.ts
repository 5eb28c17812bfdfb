/** Invokes commands: one commit stores the command, then it is pushed, and the caller waits for the result. */
import { claimRecord } from '../../../kernel/audit/claim-record.ts'
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { CallerDisconnected, type PlatformError } from '../../../kernel/errors.ts'
import type { Outcome, RowWaits } from '../../../kernel/wait.ts'
import type { EndpointRef } from '../../register/contract.ts'
import { CommandDeleted, NoEndpoint, PayloadTooLarge, TooManyOutstanding } from '../errors.ts'
import { sizeOf } from '../push.ts'
import type { CommandStatus } from '../store/commands.ts'
import * as store from '../store/invocations.ts'
import { type FindEndpoint, mayUse, permitted, updateScope } from './access.ts'
import type { Dispatch, Fresh } from './dispatch.ts'
import type { WaitingCallers } from './waiting-callers.ts'

export interface Invocation {
  endpointId: string
  commandType: string
  /** JSON text; null for a command without payload. */
  payload: string | null
  awaitMs: number
  ttlMs: number
}

export interface Invoked {
  commandId: number
  status: CommandStatus
  /** JSON text of the result. */
  result: string | null
}

/** The state of a command that is passed to the callers that wait for its result. */
export interface CommandState {
  status: CommandStatus
  result: string | null
}

export interface InvocationDeps {
  kit: Pick<Kit, 'db' | 'members'>
  /** Connections for the statements that store commands and results. */
  writes: Sql
  findEndpoint: FindEndpoint
  states: RowWaits<CommandState>
  dispatch: Dispatch
  callers: WaitingCallers
  countInvocation(status: CommandStatus): void
}

export const outstandingMax = 1000
export const payloadBytesMax = 1_000_000
/** Maximum number of commands in a group. PostgreSQL takes 47 µs for each command of such a group, and 53 µs in a group of 200. */
export const groupMax = 40
/** Expected statuses of the response. The audit record contains one of them, because it is stored before the response is known. */
const statusOfResult = 200
const statusWithoutResult = 202
/** Maximum size of a payload that is stored together with other payloads, because a statement must not contain a hundred large payloads. */
const sharedBytesMax = 20_000

/**
 * Returns the minimum time between the starts of two writes. A statement costs as much processor time as ten of its rows. Under load,
 * writes therefore wait for more rows.
 */
export const pauseMsAfter = (lastCount: number) => (lastCount > 4 ? 5 : 0)

export const stateKey = ({ tenantId, endpointId, commandId }: store.CommandKey) =>
  `${commandId} ${tenantId} ${endpointId}`

/** Throws 413 if the payload does not fit into a message to a device. */
export function checkPayload(payload: string | null) {
  if (payload !== null && Buffer.byteLength(payload) > payloadBytesMax)
    throw PayloadTooLarge({ limit: payloadBytesMax })
}

/** The caller of a command. Either `invoked` or `failed` is called, once. */
export interface InvocationCaller {
  invoked(command: Invoked): void
  failed(error: unknown): void
  /** Authenticates the caller again. Absent if the platform itself is the caller. */
  callerNow?: (() => Promise<Caller>) | undefined
}

/**
 * Stores and pushes a command, and passes its result to the caller. While the caller waits for the result, no function is suspended, and
 * the payload is not in memory, because ten thousand callers can wait at the same time.
 */
export type Invoke = (ctx: Ctx, invocation: Invocation, caller: InvocationCaller) => void

export function createInvoke(deps: InvocationDeps): Invoke {
  const insert = createInsert(deps)
  return (ctx, invocation, caller) => {
    invoke(deps, insert, ctx, invocation, caller).catch(caller.failed)
  }
}

async function invoke(deps: InvocationDeps, insert: Insert, ctx: Ctx, given: Invocation, caller: InvocationCaller) {
  const { endpointId } = given
  const missing = () => NoEndpoint({ endpointId })
  const endpoint = await permitted(deps.findEndpoint, ctx, endpointId, updateScope, missing)
  checkPayload(given.payload)
  if (given.awaitMs > 0) return await invokeAndWait(deps, insert, ctx, endpoint, given, caller)
  const started = await start(deps, insert, endpoint, given)
  caller.invoked({ ...started, result: null })
}

type Insert = (command: store.NewCommand) => Promise<number>

/** Stores a command and pushes it. */
async function start(
  { kit, dispatch }: InvocationDeps,
  insert: Insert,
  endpoint: EndpointRef,
  invocation: Invocation,
): Promise<{ commandId: number; status: CommandStatus }> {
  const { tenantId, endpointId, applicationName } = endpoint
  const { commandType: type, payload, ttlMs, awaitMs } = invocation
  const kept = ttlMs > 0
  const command: store.NewCommand = {
    tenantId,
    endpointId,
    applicationName,
    type,
    payload,
    size: sizeOf(type, payload),
    // A command that is not kept can be executed only while its caller waits.
    lifetimeMs: kept ? ttlMs : awaitMs,
    kept,
    waitingNode: awaitMs > 0 ? kit.members.nodeId : null,
    taskId: null,
    audit: claimRecord(awaitMs > 0 ? statusOfResult : statusWithoutResult),
  }
  const commandId = await insert(command)
  if (kept || (await dispatch.once({ tenantId, endpointId }, { id: commandId, type, payload })))
    return { commandId, status: 'PENDING' }
  await store.expireCommand(kit.db.sql, { tenantId, endpointId, commandId })
  return { commandId, status: 'EXPIRED' }
}

async function invokeAndWait(
  deps: InvocationDeps,
  insert: Insert,
  ctx: Ctx,
  endpoint: EndpointRef,
  invocation: Invocation,
  caller: InvocationCaller,
): Promise<void> {
  const { awaitMs, ttlMs } = invocation
  const waiting = createWaiting(deps, ctx, endpoint, ttlMs === 0, caller)
  const startCommand = async () => {
    const { commandId, status } = await start(deps, insert, endpoint, invocation)
    // The wait ends one millisecond after the command expires, so that the final read returns EXPIRED.
    const limitMs = ttlMs === 0 ? awaitMs : Math.min(awaitMs, ttlMs + 1)
    return { id: waiting.stored(commandId), state: { status, result: null }, limitMs }
  }
  try {
    await deps.states.startAndWait(ctx, startCommand, waiting)
  } catch (error) {
    waiting.remove()
    throw error
  }
}

/** Creates the functions that are in memory while a caller waits. They are created here, so that their scope contains no payload. */
function createWaiting(
  deps: InvocationDeps,
  ctx: Ctx,
  endpoint: EndpointRef,
  isOnce: boolean,
  { callerNow, invoked, failed }: InvocationCaller,
) {
  const { tenantId, endpointId } = endpoint
  let commandId = 0
  let refused: PlatformError | undefined
  const check = async () => {
    const now = await callerNow?.()
    if (now && !mayUse(now, endpoint, updateScope)) throw NoEndpoint({ endpointId })
  }
  const remove = deps.callers.add(ctx, {
    check,
    end(error) {
      refused = error
      if (commandId > 0) deps.states.wake(stateKey({ tenantId, endpointId, commandId }))
    },
  })
  /** Checks the permission again, and returns the result. */
  async function conclude(outcome: Outcome<CommandState>): Promise<Invoked> {
    try {
      if ('error' in outcome) throw outcome.error
      if (refused) throw refused
      await check()
      if (!outcome.state) throw CommandDeleted({ commandId })
      deps.countInvocation(outcome.state.status)
      return { commandId, ...outcome.state }
    } catch (error) {
      // The caller no longer waits, so a result that arrives now is too late.
      if (isOnce && CallerDisconnected.is(error))
        await store.expireCommand(deps.kit.db.sql, { tenantId, endpointId, commandId })
      throw error
    } finally {
      remove()
    }
  }
  return {
    remove,
    /** Returns the key for which the caller waits. */
    stored(id: number) {
      commandId = id
      return stateKey({ tenantId, endpointId, commandId })
    },
    until: ({ status }: CommandState) => status !== 'PENDING' || refused !== undefined,
    ended: (outcome: Outcome<CommandState>) => void conclude(outcome).then(invoked, failed),
  }
}

type Inserted = store.MadeCommand | undefined
type InsertGroup = (commands: store.NewCommand[]) => Promise<Inserted[]>

/** Returns a function that stores a command. Simultaneous calls share a transaction. */
function createInsert({ kit, writes, dispatch }: InvocationDeps): Insert {
  const insertedBy =
    (insert: InsertGroup): InsertGroup =>
    async (commands) => {
      const insertedCommands = await insert(commands)
      dispatch.committed(freshOf(commands, insertedCommands))
      return insertedCommands
    }
  // A single statement needs no transaction, which saves a round trip.
  const insertAll = insertedBy((commands) =>
    dispatch.areHere(commands)
      ? store.insertCommands(writes, commands, outstandingMax)
      : kit.db.tx((sql) => insertAndSignal(sql, dispatch, commands)),
  )
  const insertKnown = insertedBy((commands) => store.insertWithoutCount(writes, commands, outstandingMax))
  /**
   * Inserts a group. A short statement inserts the commands of endpoints that were below `outstandingMax` when their commands were last
   * counted. A second statement counts again and inserts all other commands.
   */
  const insertGroup = async (commands: store.NewCommand[]): Promise<Promise<Inserted>[]> => {
    const first = firstOfEndpoints(commands)
    const isShort = first.length > 1 && first.length * 2 > commands.length && dispatch.areHere(commands)
    const known = isShort ? await insertKnown(first) : []
    const inserted = new Map(first.map((command, index) => [command, known[index]]))
    const rest = commands.filter((command) => !inserted.get(command))
    // If some commands are stored, the group ends without waiting for the rest, whose failure must not affect the stored commands.
    const others = rest.length === 0 ? undefined : insertAll(rest)
    if (rest.length === commands.length) await others
    const restOf = async (command: store.NewCommand) => (await others)![rest.indexOf(command)]
    return commands.map(async (command) => inserted.get(command) ?? (await restOf(command)))
  }
  const shared = createBatcher(insertGroup, groupMax, pauseMsAfter)
  return async (command) => {
    const { audit, size } = command
    let insertedCommand: Inserted
    try {
      insertedCommand = size > sharedBytesMax ? (await insertAll([command]))[0] : await shared(command)
    } finally {
      audit?.settle(insertedCommand && `${audit.record.resource}/${insertedCommand.commandId}`)
    }
    if (!insertedCommand) throw TooManyOutstanding({ limit: outstandingMax }, { headers: { 'retry-after': '1' } })
    return insertedCommand.commandId
  }
}

/** Returns the first command of each endpoint. */
function firstOfEndpoints(commands: store.NewCommand[]): store.NewCommand[] {
  const first = new Map<string, store.NewCommand>()
  for (const command of commands) if (!first.has(command.endpointId)) first.set(command.endpointId, command)
  return [...first.values()]
}

/** Stores commands and signals the nodes of their devices. `dispatch.committed` must be called after the commit. */
export async function insertAndSignal(sql: Sql, dispatch: Dispatch, commands: store.NewCommand[]) {
  const insertedCommands = await store.insertCommands(sql, commands, outstandingMax)
  await dispatch.committing(
    sql,
    commands
      .filter(({ kept }, index) => kept && insertedCommands[index])
      .map(({ tenantId, endpointId }) => ({ tenantId, endpointId })),
  )
  return insertedCommands
}

/** Groups the created commands by endpoint, ordered by id. */
export function freshOf(commands: store.NewCommand[], insertedCommands: (store.MadeCommand | undefined)[]): Fresh[] {
  const fresh = new Map<string, Fresh>()
  for (const [index, { tenantId, endpointId, type, payload, kept }] of commands.entries()) {
    const { commandId } = insertedCommands[index] ?? {}
    if (commandId === undefined || !kept) continue
    const known = fresh.get(endpointId) ?? { tenantId, endpointId, commands: [] }
    known.commands.push({ id: commandId, type, payload })
    fresh.set(endpointId, known)
  }
  return [...fresh.values()]
}
