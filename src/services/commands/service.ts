import type { Gateway } from '../../gateway/contract.ts'
import type { Ctx } from '../../kernel/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'
import { invalidField } from '../../kernel/errors.ts'
import type { Applications } from '../applications/contract.ts'
import type { Register } from '../register/contract.ts'
import type { Commands, NewInvocation } from './contract.ts'
import { messageBytesMax } from './push.ts'
import { createEndpointLookup } from './service/access.ts'
import { createDeletions, type Deletions } from './service/deletions.ts'
import { createDispatch } from './service/dispatch.ts'
import { createDispatched } from './service/dispatched.ts'
import {
  type CommandState,
  createInvoke,
  type Invocation,
  type Invoke,
  type Invoked,
  stateKey,
} from './service/invocation.ts'
import * as reading from './service/reading.ts'
import { createStoreResults, type ResultMessage } from './service/results.ts'
import * as tasks from './service/tasks.ts'
import type { CommandView } from './service/values.ts'
import { createWaitingCallers } from './service/waiting-callers.ts'
import { createCommandWork } from './service/work.ts'
import type { CommandsSettings } from './settings.ts'
import { type ApplicationQuery, findStates, type PageQuery } from './store/commands.ts'
import { findOutstanding, findPositions, type OutstandingRow } from './store/outstanding.ts'
import type { TaskQuery } from './store/tasks.ts'

export interface NeededServices {
  gateway: Gateway
  applications: Applications
  register: Register
}

/** Functions that device.ts calls. */
export interface DeviceCommands {
  /** Returns the outstanding commands of a type, or of all types, oldest first, as many as fit into a message. */
  outstanding(endpoint: DeviceEndpoint, type?: string): Promise<OutstandingRow[]>
  /** Stores results in order. Returns, for each message, how many results belong to outstanding commands; all other results are ignored. */
  results(endpoint: DeviceEndpoint, messages: ResultMessage[]): Promise<number[]>
  /** Pushes the commands that were not pushed on the current connection of the endpoint. */
  catchUp(endpoint: DeviceEndpoint): Promise<void>
}

export interface CommandsService {
  invoke: Invoke
  get(ctx: Ctx, command: reading.OneCommand): Promise<CommandView>
  delete(ctx: Ctx, command: reading.OneCommand): Promise<void>
  getLast(ctx: Ctx, endpoint: Omit<reading.OneCommand, 'commandId'>): Promise<CommandView>
  listOfEndpoints(ctx: Ctx, query: reading.Endpoints): Promise<reading.CommandsOfEndpoint[]>
  listLast(ctx: Ctx, query: reading.Endpoints): Promise<reading.CommandsOfEndpoint[]>
  listOfApplication(
    ctx: Ctx,
    query: Omit<PageQuery, 'tenantId'>,
  ): Promise<{ totalElements: number; content: CommandView[] }>
  countOfApplication(ctx: Ctx, query: Omit<ApplicationQuery, 'tenantId'>): Promise<reading.CommandCounts>
  startByFilter(ctx: Ctx, filterId: string, batch: tasks.NewBatch): Promise<string>
  startByEndpoints(ctx: Ctx, endpointIds: string[], batch: tasks.NewBatch): Promise<string>
  listTasks(ctx: Ctx, query: Omit<TaskQuery, 'tenantId'>): Promise<{ totalElements: number; content: tasks.TaskView[] }>
  getTask(ctx: Ctx, task: { taskId: string; appName?: string | undefined }): Promise<tasks.TaskEntries>
  device: DeviceCommands
  deletions: Deletions
  api: Commands
  stop(): Promise<void>
}

const defaultTtlMs = 60_000
/**
 * Maximum number of connections that store commands and results. Two of them run single statements (kernel/db/pool.ts): one stores
 * commands, the other stores results.
 */
const writeConnectionsMax = 4

export function createCommands(kit: Kit<CommandsSettings>, services: NeededServices): CommandsService {
  const { db, bus, waits, metrics } = kit
  const { register, applications } = services
  const invocations = metrics.counter(
    'waypost_commands_total',
    'Number of commands with a caller that waited, by status.',
    ['status'],
  )
  const received = metrics.counter(
    'waypost_command_results_total',
    'Number of command results from devices, by kind.',
    ['kind'],
  )
  const states = waits.define<CommandState>('commands.command', (ids) => readStates(kit, ids))
  const dispatched = createDispatched(kit)
  const dispatch = createDispatch({ kit, gateway: services.gateway, dispatched: dispatched.record })
  const findEndpoint = createEndpointLookup(register, kit.bus)
  const callers = createWaitingCallers(bus)
  const countInvocation = (status: string) => invocations.inc({ status })
  const { sql: writes } = db.open({ max: writeConnectionsMax, name: 'waypost-commands' })
  const invoke = createInvoke({ kit, writes, findEndpoint, states, dispatch, callers, countInvocation })
  const invokedCommand = (ctx: Ctx, invocation: Invocation) =>
    new Promise<Invoked>((invoked, failed) => invoke(ctx, invocation, { invoked, failed }))
  const results = createStoreResults({
    kit,
    writes,
    states,
    answered: dispatch.answered,
    countResults(known, unknown) {
      if (known > 0) received.inc({ kind: 'known' }, known)
      if (unknown > 0) received.inc({ kind: 'unknown' }, unknown)
    },
  })
  const readingDeps = { kit, findEndpoint, register, applications, states }
  const taskDeps = { kit, register, applications, dispatch }
  tasks.handleBatches(taskDeps)
  return {
    invoke,
    get: (ctx, command) => reading.getCommand(readingDeps, ctx, command),
    delete: (ctx, command) => reading.deleteCommand(readingDeps, ctx, command),
    getLast: (ctx, endpoint) => reading.getLast(readingDeps, ctx, endpoint),
    listOfEndpoints: (ctx, query) => reading.listOfEndpoints(readingDeps, ctx, query),
    listLast: (ctx, query) => reading.listLast(readingDeps, ctx, query),
    listOfApplication: (ctx, query) => reading.listOfApplication(readingDeps, ctx, query),
    countOfApplication: (ctx, query) => reading.countOfApplication(readingDeps, ctx, query),
    startByFilter: (ctx, filterId, batch) => tasks.startByFilter(taskDeps, ctx, filterId, batch),
    startByEndpoints: (ctx, endpointIds, batch) => tasks.startByEndpoints(taskDeps, ctx, endpointIds, batch),
    listTasks: (ctx, query) => tasks.listTasks(taskDeps, ctx, query),
    getTask: (ctx, task) => tasks.getTask(taskDeps, ctx, task),
    device: {
      async outstanding(endpoint, type) {
        const { commands } = await findOutstanding(db.sql, endpoint, { type, bytesMax: messageBytesMax })
        if (commands.length > 0) dispatched.record(endpoint, commands)
        return commands
      },
      results,
      catchUp: ({ tenantId, endpointId }) => dispatch.catchUp({ tenantId, endpointId }),
    },
    deletions: createDeletions(kit, states, register),
    api: {
      addCarrier: dispatch.addCarrier,
      outstanding: async (endpoint) =>
        (await findOutstanding(db.sql, endpoint, { bytesMax: messageBytesMax })).commands,
      async waiting(places) {
        const positions = await findPositions(db.sql, places)
        return new Set(places.filter((_, index) => positions[index]?.isWaiting).map(({ endpointId }) => endpointId))
      },
      handedOver: dispatched.record,
      invoke: async (ctx, command) => (await invokedCommand(ctx, invocationOf(command, 0))).commandId,
      async invokeAndWait(ctx, command, awaitMs) {
        const { commandId, status } = await invokedCommand(ctx, invocationOf(command, awaitMs))
        if (status !== 'EXECUTED') return { commandId, status }
        const { endpointId, commandType } = command
        const { statusCode, reasonPhrase } = await reading.getCommand(readingDeps, ctx, {
          endpointId,
          commandType,
          commandId,
        })
        return {
          commandId,
          status,
          ...(statusCode !== undefined && { statusCode }),
          ...(reasonPhrase !== undefined && { reasonPhrase }),
        }
      },
      work: createCommandWork(taskDeps),
      results: async (endpoint, type, given) => (await results(endpoint, [{ type, results: given }]))[0]!,
    },
    async stop() {
      await dispatch.settled()
      await dispatched.settled()
    },
  }
}

/** Converts the invocation of another service. Throws a 400 for an invalid type. */
function invocationOf(
  { endpointId, commandType, payload, commandTtl = defaultTtlMs }: NewInvocation,
  awaitMs: number,
): Invocation {
  if (!/^[A-Za-z0-9_-]{1,255}$/.test(commandType))
    throw invalidField('commandType', 'expected letters, digits, _ and -')
  const text = payload === undefined ? null : JSON.stringify(payload)
  return { endpointId, commandType, payload: text, awaitMs, ttlMs: commandTtl }
}

/** Reads the states of commands by the keys that callers wait for. */
async function readStates({ db }: Pick<Kit, 'db'>, keys: string[]): Promise<Map<string, CommandState>> {
  const places = keys.map((key) => {
    const [commandId, tenantId, ...endpointId] = key.split(' ')
    return { tenantId: tenantId!, endpointId: endpointId.join(' '), commandId: Number(commandId) }
  })
  return new Map(
    (await findStates(db.sql, places)).map((row) => [stateKey(row), { status: row.status, result: row.result }]),
  )
}
