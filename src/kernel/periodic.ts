import type { Clock } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'

export interface PeriodicTask {
  name: string
  everySeconds: number
  run(sql: Sql): Promise<void>
}

/**
 * Work that one node at a time does: whoever locks the task's row first in a period does it, in one transaction;
 * a node that dies in the middle leaves the row unlocked and the period unused.
 */
export function createPeriodic({ db, log, now }: { db: Db; log: Log; now: Clock }) {
  const timers: NodeJS.Timeout[] = []
  const running = new Set<Promise<void>>()

  async function attempt({ name, everySeconds, run }: PeriodicTask) {
    try {
      await db.tx(async (sql) => {
        const due = new Date(now().getTime() - everySeconds * 1000)
        const [mine] = await sql`
          select name from kernel.periodic where name = ${name} and ran_at <= ${due} for update skip locked`
        if (!mine) {
          // A restored database may come from a version that did not have this task.
          await sql`insert into kernel.periodic (name) values (${name}) on conflict do nothing`
          return
        }
        await run(sql)
        await sql`update kernel.periodic set ran_at = ${now()} where name = ${name}`
      })
    } catch (error) {
      log.error({ err: error, task: name }, 'a periodic task failed and will be tried again')
    }
  }

  return {
    async start(tasks: PeriodicTask[]) {
      for (const task of tasks) {
        await db.sql`insert into kernel.periodic (name) values (${task.name}) on conflict do nothing`
        const tick = () => {
          const attempted = attempt(task).finally(() => running.delete(attempted))
          running.add(attempted)
        }
        timers.push(setInterval(tick, Math.min(task.everySeconds * 1000, 60_000)).unref())
        tick()
      }
    },
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running)
    },
  }
}
