/** Periodic tasks: work that one node at a time does at a fixed interval. */
import type { Db, TransactionSql } from './db.ts'
import type { Log } from './log.ts'
import { periodicTaskFailed } from './log-messages.ts'

export interface PeriodicTask {
  name: string
  everySeconds: number
  /**
   * Does the work. `signal` aborts when the node stops. A run that would take longer than a second then ends early, and the next run
   * continues.
   */
  run(sql: TransactionSql, signal?: AbortSignal): Promise<void>
  /**
   * Returns the seconds until this node tries again after a run. Default: `everySeconds`. A long pause saves transactions on idle nodes.
   */
  pauseSeconds?(): number
}

/** Maximum delay before a node tries a task again that failed or that another node had locked. */
const retrySeconds = 60

/**
 * Runs each task on one node per period. The node that first locks the task's row runs the task in one transaction. If that node dies, the
 * row is unlocked and another node runs the task. `db` has its own connections, because a task may open further transactions.
 */
export function createPeriodic({ db, log }: { db: Db; log: Log }) {
  const timers = new Map<string, NodeJS.Timeout>()
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()

  async function runAndReschedule(task: PeriodicTask) {
    let seconds = Math.min(task.everySeconds, retrySeconds)
    try {
      seconds = (await runIfDue(db, task, stopping.signal)) ?? seconds
    } catch (error) {
      periodicTaskFailed(log, { err: error, task: task.name, retryInSeconds: seconds })
    }
    schedule(task, seconds)
  }

  function schedule(task: PeriodicTask, seconds: number) {
    if (stopping.signal.aborted) return
    const tick = () => {
      const attempted = runAndReschedule(task).finally(() => running.delete(attempted))
      running.add(attempted)
    }
    timers.set(task.name, setTimeout(tick, Math.min(seconds, 3600) * 1000).unref())
  }

  return {
    start(tasks: PeriodicTask[]) {
      for (const task of tasks) schedule(task, 0)
    },
    async stop() {
      stopping.abort()
      for (const timer of timers.values()) clearTimeout(timer)
      await Promise.all(running)
    },
  }
}

/** Runs the task if it is due. Returns the seconds until it is due again, or undefined if another node runs it. */
function runIfDue(db: Db, task: PeriodicTask, signal: AbortSignal): Promise<number | undefined> {
  const { name, everySeconds } = task
  return db.tx(async (sql) => {
    // Older versions used the clocks of nodes and may have written a time in the future. `clock_timestamp()` is needed, because `now()` is
    // the start of this transaction: a run that ended on another node after it would look like one in the future.
    const [row] = await sql<{ isDue: boolean; seconds: number }[]>`
      select ran_at > clock_timestamp() or ran_at <= clock_timestamp() - make_interval(secs => ${everySeconds}) as is_due,
        case when isfinite(ran_at)
          then extract(epoch from ran_at - clock_timestamp())::float8 + ${everySeconds}::float8 else 0 end as seconds
      from kernel.periodic where name = ${name} for update skip locked`
    if (!row) {
      const { count } = await sql`insert into kernel.periodic (name) values (${name}) on conflict do nothing`
      return count === 1 ? 0 : undefined
    }
    if (!row.isDue) return row.seconds
    await task.run(sql, signal)
    await sql`update kernel.periodic set ran_at = clock_timestamp() where name = ${name}`
    return task.pauseSeconds?.() ?? everySeconds
  })
}
