/** A node that runs bulk tasks only: in the process of a test, or in a process that can be killed (bulk-child.ts). */
import { createBulk } from '../../src/kernel/bulk/bulk.ts'
import { defineBulk, defineWalk } from '../../src/kernel/bulk/types.ts'
import { sleep } from '../../src/kernel/clock.ts'
import { type ConnectionOptions, connect, createDb, type Sql } from '../../src/kernel/db.ts'
import { newId } from '../../src/kernel/ids.ts'
import { createJobs } from '../../src/kernel/jobs.ts'
import { createLog } from '../../src/kernel/log.ts'
import { createChecks } from '../../src/kernel/signals/checks.ts'

interface Data {
  pauseMs: number
}

export const Crash = defineBulk<Data, number>('test.crash', {
  title: 'Crash',
  pageSize: 5,
  sliceSeconds: 0.1,
  retries: 2,
})
export const CrashWalk = defineWalk<Data & { upTo: number }>('test.crash-walk', {
  title: 'Crash on the way',
  firstItems: 5,
  itemsMin: 5,
  itemsMax: 5,
  sliceSeconds: 0.1,
})

/**
 * Starts the node. For each page of items, `before` runs before the commit; it may throw or close the connection. Items that are multiples
 * of 10 fail.
 */
export async function bulkNode(
  connection: ConnectionOptions,
  { before = async () => {}, workers = true }: { before?: (sql: Sql) => Promise<void>; workers?: boolean } = {},
) {
  const db = createDb(connection, { max: 6 })
  const pool = connect(connection, { max: 1, translate: false })
  const log = await createLog({ level: 'silent', format: 'json' })
  const checks = createChecks({ db, members: { isAlone: () => true }, log })
  checks.start()
  const jobs = createJobs({ db, pool, log, checks })
  const bulk = createBulk({ db, jobs, log, newId })
  let pages = 0
  const effect = async (sql: Sql, taskId: string, items: number[], { pauseMs }: Data) => {
    pages++
    await sql`insert into test.effects (task_id, n) select ${taskId}, n from unnest(${items}::integer[]) as g(n)`
    await before(sql)
    await sleep(pauseMs)
  }
  bulk.handle(Crash, {
    async page(sql, { taskId, data }, items) {
      const good = items.filter((n) => n % 10 !== 0)
      await effect(sql, taskId, good, data)
      return items.map((n) => (n % 10 === 0 ? { failed: `${n} divides by 10` } : {}))
    },
  })
  bulk.handleWalk(CrashWalk, {
    async step(sql, { taskId, data }, { after, limit }) {
      const count = Math.min(limit, data.upTo - after)
      if (count === 0) return 'end'
      await effect(
        sql,
        taskId,
        Array.from({ length: count }, (_, n) => after + n + 1),
        data,
      )
      return { last: after + count, count }
    },
  })
  await jobs.start({ workers })
  return {
    db,
    jobs,
    bulk,
    pages: () => pages,
    async stop() {
      await checks.stop()
      await jobs.stop()
      await Promise.all([db.close(), pool.end({ timeout: 1 })])
    },
  }
}

export const effectsOf = async (sql: Sql, taskId: string) =>
  (await sql`select n from test.effects where task_id = ${taskId} order by n`).map(({ n }) => n as number)

export async function makeEffects(sql: Sql) {
  await sql`create schema test`
  await sql`create table test.effects (task_id text, n integer)`
}
