/** Periodic tasks: work that one node at a time does at a fixed interval. */
import type { Db, TransactionSql } from './db.ts'
import type { Log } from './log.ts'
import { periodicTaskFailed } from './log-messages.ts'
import type { Members } from './members.ts'

export interface PeriodicTask {
  name: string
  everySeconds: number
  /**
   * Does the work. `signal` aborts when the node stops. A run that would take longer than a second then ends early, and the next run
   * continues.
   */
  run(sql: TransactionSql, signal?: AbortSignal): Promise<void>
  /**
   * Returns the seconds until this node tries the task again after a successful run. Default: `everySeconds`. A task that found nothing to
   * do can return more, which saves transactions. Other nodes still use `everySeconds`.
   */
  pauseSeconds?(): number
}

/** Maximum delay before a node tries a task again that failed or that another node had locked. */
const retrySeconds = 60

/**
 * A task usually stays on the node that ran it last. The other nodes try it only when it is overdue by `graceSeconds`, for example because
 * it fails on that node. When a node has died, the other nodes try immediately.
 */
const graceSeconds = 30

/**
 * Runs each task on one node per period. The node that first locks the task's row runs the task in one transaction. If that node dies, the
 * row is unlocked and another node runs the task. `db` has its own connections, because a task may open further transactions.
 */
export function createPeriodic({
  db,
  members,
  log,
}: {
  db: Db
  members: Pick<Members, 'isAlone' | 'onLeave'>
  log: Log
}) {
  const timers = new Map<PeriodicTask, NodeJS.Timeout>()
  /** Tasks whose node may have left. All nodes try these tasks when they are due, without `graceSeconds`. */
  const unowned = new Set<PeriodicTask>()
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()

  async function runAndReschedule(task: PeriodicTask) {
    let seconds = Math.min(task.everySeconds, retrySeconds)
    try {
      const { runHere, pauseSeconds = seconds } = await runIfDue(db, task, stopping.signal)
      const hasOwner = !runHere && !members.isAlone() && !unowned.has(task)
      seconds = hasOwner ? pauseSeconds + graceSeconds : pauseSeconds
    } catch (error) {
      periodicTaskFailed(log, { err: error, task: task.name, retryInSeconds: seconds })
    }
    unowned.delete(task)
    schedule(task, seconds)
  }

  function schedule(task: PeriodicTask, seconds: number) {
    if (stopping.signal.aborted) return
    const tick = () => {
      timers.delete(task)
      const attempted = runAndReschedule(task).finally(() => running.delete(attempted))
      running.add(attempted)
    }
    timers.set(task, setTimeout(tick, Math.min(seconds, 3600) * 1000).unref())
  }

  members.onLeave(() => {
    for (const [task, timer] of timers) {
      unowned.add(task)
      clearTimeout(timer)
      schedule(task, 0)
    }
  })

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

interface Attempt {
  /** False if another node has run the task or is running it. */
  runHere: boolean
  /** The seconds until the task is due again, if they are known. */
  pauseSeconds?: number
}

/** Runs the task if it is due. */
function runIfDue(db: Db, task: PeriodicTask, signal: AbortSignal): Promise<Attempt> {
  const { name, everySeconds } = task
  return db.tx(async (sql) => {
    // A `ran_at` in the future counts as due: older versions wrote the time of a node's clock, which may have been fast. The comparison
    // uses `clock_timestamp()`, because `now()` is the start of this transaction: a run on another node that ended after this start would
    // seem to be in the future.
    const [row] = await sql<{ isDue: boolean; seconds: number }[]>`
      select ran_at > clock_timestamp() or ran_at <= clock_timestamp() - make_interval(secs => ${everySeconds}) as is_due,
        case when isfinite(ran_at)
          then extract(epoch from ran_at - clock_timestamp())::float8 + ${everySeconds}::float8 else 0 end as seconds
      from kernel.periodic where name = ${name} for update skip locked`
    if (!row) {
      const { count } = await sql`insert into kernel.periodic (name) values (${name}) on conflict do nothing`
      return count === 1 ? { runHere: true, pauseSeconds: 0 } : { runHere: false }
    }
    if (!row.isDue) return { runHere: false, pauseSeconds: row.seconds }
    await task.run(sql, signal)
    await sql`update kernel.periodic set ran_at = clock_timestamp() where name = ${name}`
    return { runHere: true, pauseSeconds: task.pauseSeconds?.() ?? everySeconds }
  })
}
