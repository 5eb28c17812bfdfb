/** Lists, starts and cancels the bulk tasks of all services, and creates bulk tasks over endpoints. */

import type { Identity } from '../../identity/contract.ts'
import type { AnyTask, ItemState } from '../../kernel/bulk/bulk.ts'
import type { TaskState } from '../../kernel/bulk/types.ts'
import { createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { BinaryData } from '../binary-data/contract.ts'
import type { Commands } from '../commands/contract.ts'
import type { Configuration } from '../configuration/contract.ts'
import type { EndpointWork, Register, RegisterWorks } from '../register/contract.ts'
import type { TimeSeries } from '../time-series/contract.ts'
import type { TrafficLog } from '../traffic-log/contract.ts'
import { isOwn, requireCancel, requireReadable, visibleTasks } from './access.ts'
import { type CreateDeps, createJob, type JobRequest, type Samples } from './create.ts'
import { JobEnded, JobNotCancelable, JobNotPrepared, NoJob, NotOwnJob } from './errors.ts'
import { type ExportData, type ExportFile, exportTypes } from './exports/exports.ts'
import { createExports, type ExportOperations } from './exports/service.ts'
import * as store from './store.ts'
import { type JobView, viewOf } from './view.ts'

export type JobDetails = JobView & { parameters: Record<string, unknown>; file?: ExportFile }

export interface JobItem {
  position: number
  state: ItemState
  endpointId?: string
  reason?: string
  commandId?: number
}

export interface JobQuery {
  states?: TaskState[] | undefined
  kinds?: string[] | undefined
  applicationName?: string | undefined
  own?: boolean | undefined
  offset: number
  limit: number
}

interface Works extends RegisterWorks {
  command: Commands['work']
  configuration: Configuration['work']
}

interface Services {
  identity: Identity
  timeSeries: TimeSeries
  trafficLog: TrafficLog
  binaryData: BinaryData
  register: Register
  commands: Commands
  configuration: Configuration
}

export interface JobsService {
  works: Works
  exports: ExportOperations
  create<P extends object>(
    ctx: Ctx,
    work: EndpointWork<P>,
    request: JobRequest,
    parameters: P,
  ): Promise<JobDetails & Samples>
  list(ctx: Ctx, query: JobQuery): Promise<{ totalElements: number; content: JobView[] }>
  read(ctx: Ctx, jobId: string): Promise<JobDetails>
  items(
    ctx: Ctx,
    jobId: string,
    query: { state?: ItemState | undefined; offset: number; limit: number },
  ): Promise<{ totalElements: number; content: JobItem[] }>
  /** Starts a job that was created as a preview. */
  start(ctx: Ctx, jobId: string): Promise<JobDetails>
  cancel(ctx: Ctx, jobId: string): Promise<JobDetails>
  deleteTenant(sql: Sql, tenantId: string): Promise<void>
}

interface Deps extends CreateDeps {
  exports: ExportOperations
  /** Returns the parameters of a task that users may see. */
  describe(task: AnyTask): Record<string, unknown>
}

/** Limits of concurrent selections. A selection of a million endpoints uses a connection for half a minute. */
const selectionLimits = { perTenant: 2, total: 4, waitingPerTenant: 20 }

export function createJobs(kit: Kit, services: Services): JobsService {
  const { register, commands, configuration } = services
  const exports = createExports(kit, services)
  const works: Works = { ...register.works, command: commands.work, configuration: configuration.work }
  const byType = new Map(Object.values(works).map((work): [string, EndpointWork<never>] => [work.type.name, work]))
  const deps: Deps = {
    kit,
    register,
    selections: createConcurrencyLimit(selectionLimits),
    exports,
    describe: ({ type, data }) =>
      byType.get(type)?.describe(data) ?? (isExport({ type }) ? exportParameters(data) : {}),
  }
  return {
    works,
    exports,
    async create(ctx, work, request, parameters) {
      const { taskId, ...samples } = await createJob(deps, ctx, work, request, parameters)
      return { ...(await read(deps, ctx, taskId)), ...samples }
    },
    list: (ctx, query) => list(deps, ctx, query),
    read: (ctx, jobId) => read(deps, ctx, jobId),
    items: (ctx, jobId, query) => listItems(deps, ctx, jobId, query),
    start: (ctx, jobId) => start(deps, ctx, jobId),
    cancel: (ctx, jobId) => cancel(deps, ctx, jobId),
    async deleteTenant(sql, tenantId) {
      await store.deleteOfTenant(sql, tenantId)
      while (await kit.bulk.deleteTenantTasks(sql, tenantId, exportTypes));
    },
  }
}

async function list({ kit: { db, bulk } }: Deps, ctx: Ctx, { offset, limit, ...query }: JobQuery) {
  const ownJobs = { createdBy: ctx.caller.subject, field: 'applicationName', values: [] }
  const selection = {
    tenantId: ctx.tenantId,
    ...(query.kinds && { types: query.kinds }),
    states: query.states,
    among: query.own ? ownJobs : visibleTasks(ctx),
    data: query.applicationName === undefined ? undefined : { field: 'applicationName', value: query.applicationName },
  }
  const [totalElements, tasks] = await Promise.all([
    bulk.count(db.sql, selection),
    bulk.list(db.sql, { ...selection, offset, limit, fields: ['applicationName'] }),
  ])
  return { totalElements, content: tasks.map(viewOf) }
}

async function find({ kit: { db, bulk } }: Deps, ctx: Ctx, jobId: string): Promise<AnyTask> {
  return requireReadable(ctx, jobId, await bulk.findAny(db.sql, jobId))
}

async function read(deps: Deps, ctx: Ctx, jobId: string): Promise<JobDetails> {
  const task = await find(deps, ctx, jobId)
  const file = isExport(task) ? await deps.exports.fileOf(jobId) : undefined
  return { ...viewOf(task), parameters: deps.describe(task), ...(file && { file }) }
}

const isExport = ({ type }: { type: string }) => exportTypes.some(({ name }) => name === type)

const exportParameters = (data: object) => {
  const { format, gzip, request } = data as ExportData
  return { format, gzip, ...request }
}

async function listItems(deps: Deps, ctx: Ctx, jobId: string, query: Parameters<JobsService['items']>[2]) {
  const { bulk, db } = deps.kit
  const task = await find(deps, ctx, jobId)
  const { total, ...counts } = task.counts
  if (!task.hasItems) return { totalElements: 0, content: [] }
  const items = await bulk.items<object, StoredItem, StoredItem>(
    db.sql,
    { name: task.type },
    { taskId: jobId, ...query },
  )
  return { totalElements: (query.state ? counts[query.state] : total) ?? 0, content: items.map(itemOf) }
}

interface StoredItem {
  endpointId?: unknown
  commandId?: unknown
}

/**
 * Converts a stored item for the API. Copies only fields that are known to be public: items and results of some services contain secrets.
 */
function itemOf({
  position,
  state,
  item,
  failed,
  result,
}: {
  position: number
  state: ItemState
  item: StoredItem
  failed?: string
  result?: StoredItem
}): JobItem {
  const endpointId = result?.endpointId ?? item.endpointId
  const { commandId } = result ?? {}
  return {
    position,
    state,
    ...(typeof endpointId === 'string' && { endpointId }),
    ...(failed !== undefined && { reason: failed }),
    ...(typeof commandId === 'number' && { commandId }),
  }
}

async function start(deps: Deps, ctx: Ctx, jobId: string): Promise<JobDetails> {
  const { db, bulk } = deps.kit
  const task = await find(deps, ctx, jobId)
  if (!isOwn(ctx, task)) throw NotOwnJob({ jobId })
  if (!(await db.tx((sql) => bulk.release(sql, jobId)))) {
    const { state } = await find(deps, ctx, jobId)
    throw JobNotPrepared({ jobId, state })
  }
  return await read(deps, ctx, jobId)
}

async function cancel(deps: Deps, ctx: Ctx, jobId: string): Promise<JobDetails> {
  const { db, bulk } = deps.kit
  const task = await find(deps, ctx, jobId)
  requireCancel(ctx, task)
  if (!task.cancelable) throw JobNotCancelable({ jobId, title: task.title })
  const isCanceled = await db.tx(async (sql) => {
    if (!(await bulk.cancel(sql, jobId))) return false
    if (isExport(task)) await store.expireExport(sql, jobId, deps.kit.now())
    return true
  })
  if (!isCanceled) {
    const ended = await bulk.findAny(db.sql, jobId)
    throw ended ? JobEnded({ jobId, state: ended.state }) : NoJob({ jobId })
  }
  return await read(deps, ctx, jobId)
}
