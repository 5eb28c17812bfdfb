/** Reads and deletes commands for callers of the HTTP API. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { RowWaits } from '../../../kernel/wait.ts'
import type { Applications } from '../../applications/contract.ts'
import type { EndpointRef, Register } from '../../register/contract.ts'
import { NoCommand, NoExecutedCommand } from '../errors.ts'
import { commandIdMax } from '../push.ts'
import * as store from '../store/commands.ts'
import { type FindEndpoint, mayUse, permitted, readScope, requireApplication, updateScope } from './access.ts'
import { stateKey, type CommandState as WaitedState } from './invocation.ts'
import { type CommandView, viewOf } from './values.ts'

export interface ReadingDeps {
  kit: Pick<Kit, 'db'>
  findEndpoint: FindEndpoint
  register: Pick<Register, 'findAll'>
  applications: Pick<Applications, 'exists'>
  states: RowWaits<WaitedState>
}

export type CommandState = store.CommandState

export interface OneCommand {
  endpointId: string
  commandType: string
  commandId: number
}

export interface Endpoints {
  endpointIds: string[]
  types: string[]
}

export interface CommandsOfEndpoint {
  endpointId: string
  commands: CommandView[]
  truncated?: true
}

/** Maximum number of commands in the list of one endpoint. */
const perEndpointMax = 1000
/**
 * Maximum size of a response in memory. Above it, `listOfEndpoints` truncates the lists of commands, and `listOfApplication` rejects the
 * page.
 */
const responseBytesMax = 32_000_000
/** The payloads of so few commands cannot exceed `responseBytesMax` by much, so their size is not checked on pages of at most this size. */
const uncheckedSize = 20

/** Returns whether an integer in a path can be the id of a command. If it cannot, the response is the same as for a missing command. */
const isCommandId = (id: number) => id > 0 && id <= commandIdMax

export async function getCommand(
  { kit, findEndpoint }: ReadingDeps,
  ctx: Ctx,
  command: OneCommand,
): Promise<CommandView> {
  const missing = () => NoCommand({ ...command })
  const { tenantId, endpointId } = await permitted(findEndpoint, ctx, command.endpointId, readScope, missing)
  const { commandId, commandType: type } = command
  if (!isCommandId(commandId)) throw missing()
  const found = await store.findCommand(kit.db.sql, { tenantId, endpointId, commandId, type })
  if (!found) throw missing()
  return viewOf(found)
}

/** Deletes a command. A caller that waits for its result gets 404. */
export async function deleteCommand({ kit, findEndpoint, states }: ReadingDeps, ctx: Ctx, command: OneCommand) {
  const missing = () => NoCommand({ ...command })
  const { tenantId, endpointId } = await permitted(findEndpoint, ctx, command.endpointId, updateScope, missing)
  const { commandId, commandType: type } = command
  if (!isCommandId(commandId)) throw missing()
  const key = { tenantId, endpointId, commandId }
  await kit.db.tx(async (sql) => {
    const deleted = await store.deleteCommand(sql, { ...key, type })
    if (!deleted) throw missing()
    if (deleted.waitingNode !== null)
      await states.changed(sql, [{ id: stateKey(key), to: `node/${deleted.waitingNode}` }])
  })
}

export async function getLast(
  { kit, findEndpoint }: ReadingDeps,
  ctx: Ctx,
  endpoint: Omit<OneCommand, 'commandId'>,
): Promise<CommandView> {
  const missing = () => NoExecutedCommand({ ...endpoint })
  const { tenantId, endpointId } = await permitted(findEndpoint, ctx, endpoint.endpointId, readScope, missing)
  const [last] = await store.findLast(kit.db.sql, {
    tenantId,
    endpointIds: [endpointId],
    types: [endpoint.commandType],
  })
  if (!last) throw missing()
  return viewOf(last)
}

/** Lists the commands of these types, for each endpoint that the caller may read. */
export async function listOfEndpoints(
  deps: ReadingDeps,
  ctx: Ctx,
  { endpointIds, types }: Endpoints,
): Promise<CommandsOfEndpoint[]> {
  const endpoints = await readable(deps, ctx, endpointIds)
  const lists: CommandsOfEndpoint[] = []
  let bytesLeft = responseBytesMax
  for (const { tenantId, endpointId } of endpoints) {
    const page = { tenantId, endpointId, types, limit: perEndpointMax + 1, bytesMax: bytesLeft }
    const { rows, isCut, bytes } = await store.findOfEndpoint(deps.kit.db.sql, page)
    bytesLeft = Math.max(0, bytesLeft - bytes)
    const commands = rows.slice(0, perEndpointMax).map(viewOf)
    lists.push({ endpointId, commands, ...((isCut || rows.length > perEndpointMax) && { truncated: true as const }) })
  }
  return lists
}

/** Lists the last executed command of each type, for each endpoint that the caller may read. */
export async function listLast(
  deps: ReadingDeps,
  ctx: Ctx,
  { endpointIds, types }: Endpoints,
): Promise<CommandsOfEndpoint[]> {
  const endpoints = await readable(deps, ctx, endpointIds)
  const rows: store.CommandRow[] = []
  for (const [tenantId, some] of Map.groupBy(endpoints, (endpoint) => endpoint.tenantId)) {
    const ids = some.map(({ endpointId }) => endpointId)
    rows.push(...(await store.findLast(deps.kit.db.sql, { tenantId, endpointIds: ids, types })))
  }
  const found = Map.groupBy(rows, ({ endpointId }) => endpointId)
  return endpoints.map(({ endpointId }) => ({ endpointId, commands: (found.get(endpointId) ?? []).map(viewOf) }))
}

async function readable({ register }: ReadingDeps, ctx: Ctx, endpointIds: string[]): Promise<EndpointRef[]> {
  const found = await register.findAll(endpointIds)
  return endpointIds.flatMap((endpointId) => {
    const endpoint = found.get(endpointId)
    return endpoint && mayUse(ctx.caller, endpoint, readScope) ? [endpoint] : []
  })
}

export async function listOfApplication(
  { kit, applications }: ReadingDeps,
  ctx: Ctx,
  query: Omit<store.PageQuery, 'tenantId'>,
): Promise<{ totalElements: number; content: CommandView[] }> {
  await requireApplication(applications, ctx, query.applicationName)
  const selection = { ...query, tenantId: ctx.tenantId }
  if (selection.limit > uncheckedSize && (await store.countBytes(kit.db.sql, selection)) > responseBytesMax)
    throw invalidField('size', 'the payloads of this page are too large together, ask for a smaller page')
  const [totalElements, rows] = await Promise.all([
    store.countOfApplication(kit.db.sql, selection),
    store.findOfApplication(kit.db.sql, selection),
  ])
  return { totalElements, content: rows.map(viewOf) }
}

export interface CommandCounts {
  total: number
  pending: number
  succeeded: number
  failed: number
  expired: number
}

export async function countOfApplication(
  { kit, applications }: ReadingDeps,
  ctx: Ctx,
  query: Omit<store.ApplicationQuery, 'tenantId'>,
): Promise<CommandCounts> {
  await requireApplication(applications, ctx, query.applicationName)
  const rows = await store.countStates(kit.db.sql, { ...query, tenantId: ctx.tenantId })
  const countIn = (state: store.CommandState) => rows.find((row) => row.state === state)?.count ?? 0
  return {
    total: rows.reduce((sum, { count }) => sum + count, 0),
    pending: countIn('PENDING'),
    succeeded: countIn('SUCCEEDED'),
    failed: countIn('FAILED'),
    expired: countIn('EXPIRED'),
  }
}
