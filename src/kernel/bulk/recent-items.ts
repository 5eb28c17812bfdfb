/**
 * Keeps the items of tasks that this node has just stored. If one of its jobs runs such a task, it need not read and parse them again,
 * which takes a tenth of the time of a batch of registrations.
 */
export interface RecentItems {
  /** Keeps the pages of a task, unless there are too many bytes of JSON already. */
  add(taskId: string, pages: unknown[][], bytes: number): void
  /** Returns all pages of a task; undefined if they must be read. */
  pagesOf(taskId: string): unknown[][] | undefined
  drop(taskId: string): void
}

const bytesMax = 8 * 1024 * 1024
/** After this time the task has ended, runs on another node or was never committed. */
const keepMs = 30_000

export function createRecentItems(): RecentItems {
  const tasks = new Map<string, { pages: unknown[][]; bytes: number; timer: NodeJS.Timeout }>()
  let total = 0

  function drop(taskId: string) {
    const task = tasks.get(taskId)
    if (!task) return
    tasks.delete(taskId)
    total -= task.bytes
    clearTimeout(task.timer)
  }

  return {
    add(taskId, pages, bytes) {
      if (total + bytes > bytesMax) return
      total += bytes
      tasks.set(taskId, { pages, bytes, timer: setTimeout(() => drop(taskId), keepMs).unref() })
    },
    pagesOf: (taskId) => tasks.get(taskId)?.pages,
    drop,
  }
}
