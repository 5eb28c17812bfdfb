/** Converts tasks to jobs, as the API and live streams return them. */
import type { AnyTask } from '../../kernel/bulk/bulk.ts'
import type { TaskState } from '../../kernel/bulk/types.ts'
import { applicationOf } from './access.ts'

export interface JobView {
  jobId: string
  kind: string
  title: string
  state: TaskState
  owner: { type: string; id: string; name?: string }
  applicationName?: string
  counts: { total?: number; succeeded: number; failed: number; pending?: number }
  problem?: string
  createdDate: Date
  finishedDate?: Date
  cancelable: boolean
  hasItems: boolean
}

export function viewOf(task: AnyTask): JobView {
  const applicationName = applicationOf(task)
  const { total, succeeded, failed, pending } = task.counts
  const counts = { succeeded, failed, ...(total !== null && { total }), ...(pending !== null && { pending }) }
  return {
    jobId: task.taskId,
    kind: task.type,
    title: task.title,
    state: task.state,
    owner: task.createdBy,
    ...(applicationName !== undefined && { applicationName }),
    counts,
    ...(task.problem !== null && { problem: task.problem }),
    createdDate: task.createdAt,
    ...(task.finishedAt && { finishedDate: task.finishedAt }),
    cancelable: task.cancelable && task.finishedAt === null,
    hasItems: task.hasItems,
  }
}
