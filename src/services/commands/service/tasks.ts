/** Tasks: a command for many endpoints. The endpoints are stored immediately; a walk creates the commands in the background. */
import { creatorOf, defineWalk } from '../../../kernel/bulk/types.ts'
import { authorize, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { holds, onResource } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import {
  applicationResource,
  endpointResource,
  type FilterRef,
  type Register,
  type Selection,
  selectionPages,
} from '../../register/contract.ts'
import { NoEndpoint, NoFilter, NoTask } from '../errors.ts'
import { sizeOf } from '../push.ts'
import type { NewCommand } from '../store/invocations.ts'
import * as store from '../store/tasks.ts'
import { applicationScope, mayReadApplication, requireApplication, updateScope } from './access.ts'
import type { Dispatch } from './dispatch.ts'
import { checkPayload, freshOf, insertAndSignal } from './invocation.ts'
import { parsed } from './values.ts'

export interface TaskDeps {
  kit: Pick<Kit, 'db' | 'bulk' | 'newId'>
  register: Pick<Register, 'selectionPage' | 'findFilter' | 'taskEndpoints'>
  applications: Pick<Applications, 'exists'>
  dispatch: Dispatch
}

export interface NewBatch {
  commandType: string
  payload: string | null
  ttlMs: number
}

export interface TaskView {
  taskId: string
  filterId?: string
  commandType: string
  requestPayload?: unknown
  createdAt: Date
  pendingCount: number
  executedCount: number
  expiredCount: number
}

export interface TaskEntries {
  executed: TaskEntryView[]
  expired: TaskEntryView[]
  pending: TaskEntryView[]
}
interface TaskEntryView {
  endpointId: string
  commandId?: number
}

export const SendBatch = defineWalk<{ taskId: string }>('commands.batch', {
  title: 'Send commands',
  // A task cannot be canceled, because endpoints without a command would then stay in the task for ever.
  cancelable: false,
  firstItems: 100,
  itemsMin: 20,
  itemsMax: 500,
  // Steps are short, because a step locks its endpoints and thereby blocks other commands.
  stepMs: 50,
})

/** Maximum size of a payload that is copied into each command. A larger payload is stored once, with the task. */
const copiedBytesMax = 2000
const filterScope = 'application:endpoint-filter:read'

export function handleBatches({ kit, dispatch }: TaskDeps) {
  kit.bulk.handleWalk(SendBatch, {
    async step(sql, { tenantId, data: { taskId } }, { after, limit }) {
      const task = await store.findTask(sql, tenantId, taskId)
      if (!task) return 'canceled'
      const endpoints = await store.takeTaskEndpoints(sql, { tenantId, taskId, after, limit })
      if (endpoints.length === 0) return 'end'
      const isCopied = task.payload !== null && task.payload.length <= copiedBytesMax
      const commands = endpoints.map(
        ({ endpointId, applicationName }): NewCommand => ({
          tenantId,
          endpointId,
          applicationName,
          type: task.commandType,
          payload: isCopied ? task.payload : null,
          size: task.size,
          lifetimeMs: task.ttlMs,
          kept: task.ttlMs > 0,
          waitingNode: null,
          taskId,
        }),
      )
      const insertedCommands = await insertAndSignal(sql, dispatch, commands)
      const withPayload = commands.map((command) => ({ ...command, payload: task.payload }))
      kit.db.afterCommit(sql, () => {
        dispatch.committed(freshOf(withPayload, insertedCommands))
        if (task.ttlMs === 0)
          for (const [index, { type, payload, endpointId }] of withPayload.entries())
            if (insertedCommands[index])
              dispatch.tryOnce({ tenantId, endpointId }, { id: insertedCommands[index].commandId, type, payload })
      })
      return { last: endpoints.at(-1)!.position, count: endpoints.length }
    },
  })
}

/** Starts a batch for the endpoints that an active filter currently matches. */
export async function startByFilter(deps: TaskDeps, ctx: Ctx, filterId: string, batch: NewBatch): Promise<string> {
  const { register } = deps
  checkPayload(batch.payload)
  const filter = await register.findFilter(ctx.tenantId, filterId)
  const application = filter && onResource(ctx.tenantId, applicationResource(filter.applicationName))
  const isVisible = application && [filterScope, updateScope].some((scope) => holds(ctx.caller, scope, application))
  if (!filter || !isVisible) throw NoFilter({ filterId })
  if (filter.status !== 'active')
    throw invalidField('filterId', `filter ${filterId} is still being matched; try again when its status is active`)
  return await start(deps, ctx, { filterId }, { ...batch, filter }, ({ endpointId }) =>
    authorize(
      ctx,
      updateScope,
      endpointResource({ tenantId: ctx.tenantId, applicationName: filter.applicationName, endpointId }),
    ),
  )
}

export async function startByEndpoints(deps: TaskDeps, ctx: Ctx, endpointIds: string[], batch: NewBatch) {
  checkPayload(batch.payload)
  return await start(deps, ctx, { endpointIds }, batch, ({ endpointId }) => {
    throw NoEndpoint({ endpointId })
  })
}

/** Stores the task with all its endpoints, or nothing. `refuse` throws for an endpoint that the caller may not use. */
async function start(
  { kit, register }: TaskDeps,
  ctx: Ctx,
  selection: Selection,
  { commandType, payload, ttlMs, filter }: NewBatch & { filter?: FilterRef },
  refuse: (endpoint: { endpointId: string }) => void,
): Promise<string> {
  const { tenantId } = ctx
  return await kit.db.tx(async (sql) => {
    const taskId = kit.newId()
    const size = sizeOf(commandType, payload)
    const filterId = filter?.filterId ?? null
    await store.insertTask(sql, { tenantId, taskId, commandType, payload, size, ttlMs, filterId })
    // If the filter matches no endpoint, only this row relates the task to an application.
    if (filter) await store.insertTaskApplication(sql, { tenantId, taskId, applicationName: filter.applicationName })
    let total = 0
    for await (const { endpoints, rejected } of selectionPages(register, sql, ctx, selection, { scope: updateScope })) {
      if (rejected[0]) refuse(rejected[0])
      const foreign = endpoints.find((endpoint) => endpoint.tenantId !== tenantId)
      if (foreign) refuse(foreign)
      if (endpoints.length > 0) await store.insertTaskEndpoints(sql, { tenantId, taskId, after: total }, endpoints)
      total += endpoints.length
    }
    await kit.bulk.startWalk(sql, SendBatch, { tenantId, createdBy: creatorOf(ctx.caller), data: { taskId } }, total)
    return taskId
  })
}

export async function listTasks(
  { kit, applications }: TaskDeps,
  ctx: Ctx,
  query: Omit<store.TaskQuery, 'tenantId'>,
): Promise<{ totalElements: number; content: TaskView[] }> {
  await requireApplication(applications, ctx, query.applicationName)
  const selection = { ...query, tenantId: ctx.tenantId }
  const [totalElements, rows] = await Promise.all([
    store.countTasks(kit.db.sql, selection),
    store.findTasks(kit.db.sql, selection),
  ])
  return {
    totalElements,
    content: rows.map(({ filterId, requestPayload, ...task }) => ({
      ...task,
      ...(filterId !== null && { filterId }),
      ...(requestPayload !== null && { requestPayload: parsed(requestPayload) }),
    })),
  }
}

/** Returns the endpoints of a task: in one application, or in all applications whose commands the caller may read. */
export async function getTask(
  deps: TaskDeps,
  ctx: Ctx,
  { taskId, appName }: { taskId: string; appName?: string | undefined },
): Promise<TaskEntries> {
  const { sql } = deps.kit.db
  const { tenantId } = ctx
  const applicationNames = await readableApplications(deps, ctx, taskId, appName)
  const entries =
    applicationNames.length > 0 && (await store.findTaskEntries(sql, { tenantId, taskId, applicationNames }))
  const applications = appName === undefined ? 'any application' : `application ${appName}`
  if (!entries) throw NoTask({ taskId, applications })
  const views: TaskEntries = { executed: [], expired: [], pending: [] }
  for (const { endpointId, commandId, status } of entries)
    views[status].push({ endpointId, ...(commandId !== null && { commandId }) })
  return views
}

async function readableApplications(
  { kit, applications }: TaskDeps,
  ctx: Ctx,
  taskId: string,
  appName: string | undefined,
): Promise<string[]> {
  if (appName !== undefined) return (await mayReadApplication(applications, ctx, appName)) ? [appName] : []
  const names = await store.findTaskApplications(kit.db.sql, { tenantId: ctx.tenantId, taskId })
  return names.filter((name) =>
    holds(ctx.caller, applicationScope, onResource(ctx.tenantId, applicationResource(name))),
  )
}
