import type { Db, TransactionSql } from './db.ts'
import type { Log } from './log.ts'

export interface PeriodicTask {
  name: string
  everySeconds: number
  run(sql: TransactionSql): Promise<void>
}

/** Longest pause before a node looks again at a task that it could not lock or that failed. */
const retrySeconds = 60

/**
 * Work that one node at a time does. Whoever locks the task's row first in a period runs it in one transaction; a node that dies
 * in the middle leaves the row unlocked and the period unused. Only the database's clock decides what is due.
 * `db` has connections of its own: a task may open transactions beside the one that it runs in.
 */
export function createPeriodic({ db, log }: { db: Db; log: Log }) {
  const timers = new Map<string, NodeJS.Timeout>()
  const running = new Set<Promise<void>>()
  let stopped = false

  async function attempt(task: PeriodicTask) {
    let seconds = Math.min(task.everySeconds, retrySeconds)
    try {
      seconds = (await runIfDue(db, task)) ?? seconds
    } catch (error) {
      log.error({ err: error, task: task.name }, `a periodic task failed; retrying in ${seconds} s`)
    }
    schedule(task, seconds)
  }

  function schedule(task: PeriodicTask, seconds: number) {
    if (stopped) return
    const tick = () => {
      const attempted = attempt(task).finally(() => running.delete(attempted))
      running.add(attempted)
    }
    timers.set(task.name, setTimeout(tick, Math.min(seconds, 3600) * 1000).unref())
  }

  return {
    start(tasks: PeriodicTask[]) {
      for (const task of tasks) schedule(task, 0)
    },
    async stop() {
      stopped = true
      for (const timer of timers.values()) clearTimeout(timer)
      await Promise.all(running)
    },
  }
}

/** Seconds until the task is due again; undefined when another node has it. */
function runIfDue(db: Db, { name, everySeconds, run }: PeriodicTask): Promise<number | undefined> {
  return db.tx(async (sql) => {
    // A time in the future was written by a version that used the clocks of nodes.
    const [row] = await sql<{ isDue: boolean; seconds: number }[]>`
      select ran_at > now() or ran_at <= now() - make_interval(secs => ${everySeconds}) as is_due,
        case when isfinite(ran_at) then extract(epoch from ran_at - now())::float8 + ${everySeconds}::float8 else 0 end as seconds
      from kernel.periodic where name = ${name} for update skip locked`
    if (!row) {
      const { count } = await sql`insert into kernel.periodic (name) values (${name}) on conflict do nothing`
      return count === 1 ? 0 : undefined
    }
    if (!row.isDue) return row.seconds
    await run(sql)
    await sql`update kernel.periodic set ran_at = clock_timestamp() where name = ${name}`
    return everySeconds
  })
}
