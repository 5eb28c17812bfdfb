/** Permissions on jobs. A creator may read its own jobs. Other callers need a scope on the tenant or on the application of the job. */
import { authorize, type Ctx } from '../../kernel/contract.ts'
import { holds, onResource, onTenant, visibleResources } from '../../kernel/permissions.ts'
import { applicationResource } from '../register/contract.ts'
import { NoJob } from './errors.ts'

export const readScope = 'application:job:read'
export const cancelScope = 'application:job:cancel'

export interface OwnedTask {
  taskId: string
  tenantId: string
  createdBy: { type: string; id: string }
  data: object
}

/** Returns the application of a task, if all its items belong to the same application. */
export const applicationOf = ({ data }: Pick<OwnedTask, 'data'>): string | undefined => {
  const { applicationName } = data as { applicationName?: unknown }
  return typeof applicationName === 'string' ? applicationName : undefined
}

export const isOwn = ({ caller }: Ctx, { createdBy }: Pick<OwnedTask, 'createdBy'>) =>
  createdBy.id === caller.subject.id && createdBy.type === caller.subject.type

const resourceOf = (tenantId: string, applicationName: string | undefined) =>
  applicationName === undefined ? onTenant(tenantId) : onResource(tenantId, applicationResource(applicationName))

/** Returns whether the caller may read a job. */
export const mayRead = (
  ctx: Ctx,
  task: { tenantId: string; applicationName: string | undefined; createdBy: OwnedTask['createdBy'] },
) =>
  task.tenantId === ctx.tenantId &&
  (isOwn(ctx, task) || holds(ctx.caller, readScope, resourceOf(task.tenantId, task.applicationName)))

/** Returns the task if the caller may read it, and throws 404 otherwise. */
export function requireReadable<T extends OwnedTask>(ctx: Ctx, jobId: string, task: T | undefined): T {
  if (!task || !mayRead(ctx, { ...task, applicationName: applicationOf(task) })) throw NoJob({ jobId })
  return task
}

/** Throws 403 unless the caller created the task or may cancel it. */
export function requireCancel(ctx: Ctx, task: OwnedTask) {
  if (!isOwn(ctx, task)) authorize(ctx, cancelScope, resourceOf(task.tenantId, applicationOf(task)))
}

/**
 * Returns the condition that restricts a list to tasks that the caller may read. Returns undefined if the caller may read all tasks of the
 * tenant.
 */
export function visibleTasks(ctx: Ctx) {
  const names = visibleResources(ctx.caller, readScope, ctx.tenantId, 'application-')
  return names === 'all' ? undefined : { createdBy: ctx.caller.subject, field: 'applicationName', values: names }
}
