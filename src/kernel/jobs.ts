/** Durable jobs on PostgreSQL (pg-boss): enqueued in the caller's transaction, retried, taken up again after a crash. */
import { PgBoss } from 'pg-boss'
import type { Db, Pool, Sql } from './db.ts'
import type { Log } from './log.ts'

export interface JobDefinition<T extends object> {
  name: string
  /** Work again after a failure, this many times, with pauses that grow to 8 s. */
  retries?: number
  /** Longest run; a job whose process died is taken up again after 10 s without a sign of life. */
  timeoutSeconds?: number
  /** How many of them this process runs at once. */
  parallel?: number
  run(data: T, attempt: { last: boolean }): Promise<void>
}

export interface Jobs {
  define<T extends object>(definition: JobDefinition<T>): void
  /** With the commit of `sql`, or not at all. */
  send<T extends object>(sql: Sql, name: string, data: T): Promise<void>
  start(options: { workers: boolean }): Promise<void>
  /** Makes sure of the queues once more: a restored database may come from a version that had fewer. */
  reopen(): Promise<void>
  stop(): Promise<void>
}

export const jobsSchema = 'jobs'

/** Of pg-boss's tables, those that say what is to be done; the others describe one installation of it. */
export const jobsTables = ['job', 'job_dependency', 'queue', 'schedule', 'subscription']

/** Version of pg-boss's own tables, which it makes and migrates itself; null where it has never been. */
export async function readJobsVersion(sql: Sql): Promise<number | null> {
  const [exists] = await sql`select to_regclass('jobs.version') is not null as yes`
  if (!exists?.yes) return null
  const [row] = await sql`select max(version)::int as version from jobs.version`
  return row?.version ?? null
}

/** Makes or migrates pg-boss's tables without doing any job. The pool must be one of one connection, not translated. */
export async function installJobs(pool: Pool) {
  const boss = new PgBoss({ schema: jobsSchema, db: executorOf(pool), schedule: false, supervise: false })
  await boss.start()
  await boss.stop({ graceful: false, close: false })
}

const heartbeatSeconds = 10

export function createJobs({ db, pool, log }: { db: Db; pool: Pool; log: Log }): Jobs {
  const definitions = new Map<string, JobDefinition<never>>()
  const workers = new Map<string, string[]>()
  let running = 0
  const boss = new PgBoss({
    schema: jobsSchema,
    db: executorOf(pool),
    schedule: false,
    superviseIntervalSeconds: heartbeatSeconds,
    monitorIntervalSeconds: heartbeatSeconds,
    // Rebuilding indexes needs statements outside a transaction and is worth it only with millions of jobs.
    reindex: false,
  })
  boss.on('error', (error) => log.error({ err: error }, 'the job queue has a problem'))

  const wake = (name: string) => {
    for (const id of workers.get(name) ?? []) boss.notifyWorker(id)
  }

  async function open({ name, retries = 10, timeoutSeconds = 300 }: JobDefinition<never>) {
    const options = {
      retryLimit: retries,
      retryDelay: 1,
      retryBackoff: true,
      // A job that was killed with its process several times must not wait for minutes when nothing is wrong with it.
      retryDelayMax: 8,
      expireInSeconds: timeoutSeconds,
      heartbeatSeconds,
      deleteAfterSeconds: 7 * 24 * 3600,
    }
    if (await boss.getQueue(name)) await boss.updateQueue(name, options)
    else await boss.createQueue(name, options)
  }

  async function work(definition: JobDefinition<never>) {
    const ids: string[] = []
    for (let i = 0; i < (definition.parallel ?? 2); i++) {
      const id = await boss.work(
        definition.name,
        { includeMetadata: true, pollingIntervalSeconds: 2, heartbeatRefreshSeconds: heartbeatSeconds / 2 },
        async ([job]) => {
          if (!job) return
          const last = job.retryCount >= job.retryLimit
          running++
          try {
            await definition.run(job.data as never, { last })
          } catch (error) {
            log.warn({ err: error, job: definition.name, jobId: job.id, last }, 'a job failed')
            throw error
          } finally {
            running--
            // Else the worker would wait for its next poll although there may be more: one job every two seconds.
            wake(definition.name)
          }
        },
      )
      ids.push(id)
    }
    workers.set(definition.name, ids)
  }

  return {
    define(definition) {
      if (definitions.has(definition.name)) throw new Error(`job ${definition.name} is defined twice`)
      definitions.set(definition.name, definition as never)
    },
    async send(sql, name, data) {
      if (!definitions.has(name)) throw new Error(`job ${name} is not defined`)
      await boss.send(name, data, { db: executorOf(sql) })
      db.afterCommit(sql, () => {
        wake(name)
      })
    },
    async start(options) {
      await boss.start()
      for (const definition of definitions.values()) {
        await open(definition)
        if (options.workers) await work(definition)
      }
    },
    async reopen() {
      for (const definition of definitions.values()) await open(definition)
    },
    // Graceful looks every half second whether something still runs; when nothing does, there is nothing to wait for.
    stop: () => boss.stop({ graceful: running > 0, close: false, timeout: 5000 }),
  }
}

/** `unknown`: PostgreSQL decides what a text is. The driver would encode pg-boss's finished JSON texts a second time. */
const unknownType = 705

const executorOf = (sql: Sql) => ({
  async executeSql(text: string, values: unknown[] = []) {
    const parameters = values.map((value) =>
      typeof value === 'string' ? sql.typed(value as never, unknownType) : value,
    )
    const rows = await sql.unsafe(text, parameters as never[])
    return { rows: rows as unknown as Record<string, unknown>[] }
  },
})
