/** Durable jobs on PostgreSQL (pg-boss). They are enqueued in the caller's transaction, and retried after failures and crashes. */
import { PgBoss } from 'pg-boss'
import packageJson from 'pg-boss/package.json' with { type: 'json' }
import type { Value } from './db/values.ts'
import type { Db, Fragment, Pool, Sql, TransactionSql } from './db.ts'
import type { Log } from './log.ts'
import { jobFailed, jobQueueFailed } from './log-messages.ts'
import { lockMigrations } from './migrate.ts'
import type { Checks } from './signals/checks.ts'

export interface JobOptions {
  /** Number of retries after a failure, with delays of up to 8 s. */
  retries?: number
  /** Time limit of a run. A job whose node died is retried 10 s after its last heartbeat. */
  timeoutSeconds?: number
  /** Maximum number of jobs of this type that one node runs at the same time. */
  parallel?: number
}

export interface JobType<T extends object> extends Required<JobOptions> {
  name: string
  /** Ties the data of a job to its type at compile time. It is never set. */
  data?: T
}

const names = new Set<string>()

/** Declares a job at module level; `jobs.handle` registers its handler in `build`. */
export function defineJob<T extends object>(name: string, options: JobOptions = {}): JobType<T> {
  if (names.has(name)) throw new Error(`job ${name} is declared twice`)
  names.add(name)
  const { retries = 10, timeoutSeconds = 300, parallel = 2 } = options
  return { name, retries, timeoutSeconds, parallel }
}

export interface Attempt {
  /** True if no retry follows when this attempt fails. */
  last: boolean
  /** Aborts when the process stops or the job's time limit is reached. The handler should then throw; the next attempt continues. */
  signal: AbortSignal
}

export type JobHandler<T extends object> = (data: T, attempt: Attempt) => Promise<void>

export interface SendOptions {
  /** Earliest start: a point in time, or seconds from now by the database's clock. */
  startAfter?: Date | number
}

export interface Jobs {
  handle<T extends object>(job: JobType<T>, run: JobHandler<T>): void
  /** Enqueues the job with the commit of `sql`, or not at all. */
  send<T extends object>(sql: Sql, job: JobType<T>, data: NoInfer<T>, options?: SendOptions): Promise<void>
  start(options: { workers: boolean }): Promise<void>
  /** Creates missing queues. A restored database may come from a version with fewer queues. */
  createMissingQueues(): Promise<void>
  stop(): Promise<void>
}

export const jobsSchema = 'jobs'

/** Tables of pg-boss that a backup includes. The other tables describe the installation. */
export const jobsTables = ['job', 'job_dependency', 'queue', 'schedule', 'subscription']

/** Returns the version of pg-boss's tables, or null if the tables do not exist. pg-boss creates and migrates its tables itself. */
export async function readJobsVersion(sql: Sql): Promise<number | null> {
  const [exists] = await sql`select to_regclass('jobs.version') is not null as yes`
  if (!exists?.yes) return null
  const [row] = await sql`select max(version)::int as version from jobs.version`
  return row?.version ?? null
}

/**
 * Creates or migrates the tables of pg-boss without running jobs. It holds the migration lock, because if several nodes install at the same
 * time, all but one would fail. The pool must not translate column names, because pg-boss reads the names in its SQL.
 */
export async function installJobs(
  pool: Pool,
  inTransaction: (work: (sql: TransactionSql) => Promise<void>) => Promise<void>,
) {
  if ((await readJobsVersion(pool)) === Number(packageJson.pgboss.schema)) return
  await inTransaction(async (sql) => {
    await sql.withoutTimeLimit()
    await lockMigrations(sql)
    const boss = new PgBoss({ schema: jobsSchema, db: executorOf(pool), schedule: false, supervise: false })
    await boss.start()
    await boss.stop({ graceful: false, close: false })
  })
}

const heartbeatSeconds = 10
/** The interval at which a node that is alone looks for due jobs. Otherwise the interval of all checks applies (signals/checks.ts). */
const pollAloneMs = 1900
/**
 * The poll interval of pg-boss's own workers. The interval is so long that the workers practically never poll, because each poll would take
 * a transaction.
 */
const workerPollSeconds = 24 * 3600

const queueOptions = ({ retries, timeoutSeconds }: JobType<object>) => ({
  retryLimit: retries,
  retryDelay: 1,
  retryBackoff: true,
  // A job that was interrupted several times by killed processes should not wait for minutes.
  retryDelayMax: 8,
  expireInSeconds: timeoutSeconds,
  heartbeatSeconds,
  deleteAfterSeconds: 7 * 24 * 3600,
})

export function createJobs({
  db,
  pool,
  log,
  checks,
}: {
  db: Db
  pool: Pool
  log: Log
  checks: Pick<Checks, 'declare'>
}): Jobs {
  const handlers = new Map<string, { job: JobType<object>; run: JobHandler<never> }>()
  const workers = new Map<string, string[]>()
  const stopping = new AbortController()
  let running = 0
  let runsJobs = false
  const boss = new PgBoss({
    schema: jobsSchema,
    db: executorOf(pool),
    schedule: false,
    superviseIntervalSeconds: heartbeatSeconds,
    monitorIntervalSeconds: heartbeatSeconds,
    // Rebuilding indexes needs statements outside of a transaction. It is useful only with millions of jobs.
    reindex: false,
  })
  let stopped = false
  boss.on('error', (error) => {
    // A worker that polls during the stop finds its connections closed. This error is not reported.
    if (!stopped) jobQueueFailed(log, { err: error })
  })

  /**
   * Wakes the workers of a queue. If none are running, starts them: workers start with the first due job of their queue, because starting a
   * worker takes a statement.
   */
  const wake = (name: string) => {
    const ids = workers.get(name)
    if (ids) for (const id of ids) boss.notifyWorker(id)
    else if (runsJobs && !stopping.signal.aborted)
      startWorkers(name).catch((error) => stopping.signal.aborted || jobQueueFailed(log, { err: error }))
  }

  const jobTypes = () => [...handlers.values()].map(({ job }) => job)

  async function startWorkers(name: string) {
    const ids: string[] = []
    workers.set(name, ids)
    const { job, run } = handlers.get(name)!
    for (let i = 0; i < job.parallel; i++) {
      const id = await boss.work(
        name,
        {
          includeMetadata: true,
          pollingIntervalSeconds: workerPollSeconds,
          heartbeatRefreshSeconds: heartbeatSeconds / 2,
        },
        async ([job]) => {
          if (!job) return
          const last = job.retryCount >= job.retryLimit
          running++
          try {
            await run(job.data as never, { last, signal: AbortSignal.any([stopping.signal, job.signal]) })
          } catch (error) {
            jobFailed(log, { err: error, job: name, jobId: job.id, last })
            throw error
          } finally {
            running--
            // The worker is woken, because it would otherwise wait for the next poll.
            wake(name)
          }
        },
      )
      ids.push(id)
    }
  }

  return {
    handle(job, run) {
      if (handlers.has(job.name)) throw new Error(`job ${job.name} has two handlers`)
      handlers.set(job.name, { job, run })
    },
    async send(sql, { name }, data, { startAfter } = {}) {
      if (!handlers.has(name)) throw new Error(`job ${name} has no handler`)
      await boss.send(name, data, { db: executorOf(sql), ...(startAfter !== undefined && { startAfter }) })
      db.afterCommit(sql, () => {
        wake(name)
      })
    },
    async start(options) {
      await installJobs(pool, db.tx)
      await boss.start()
      await openQueues(boss, jobTypes())
      runsJobs = options.workers
      if (runsJobs)
        checks.declare({
          name: 'due jobs',
          expression: (sql) => dueQueues(sql, [...handlers.keys()]),
          handle: (names) => (names as string[]).forEach(wake),
          aloneMs: pollAloneMs,
        })
    },
    createMissingQueues: () => openQueues(boss, jobTypes()),
    async stop() {
      stopping.abort(new Error('the process stops'))
      // A graceful stop polls for running handlers every half second, so it is requested only if a handler runs.
      await boss.stop({ graceful: running > 0, close: false, timeout: 5000 })
      stopped = true
    },
  }
}

/** Reads all queues in one statement, then creates missing queues and updates changed queues. Usually there is nothing to do. */
async function openQueues(boss: PgBoss, jobs: JobType<object>[]) {
  if (jobs.length === 0) return
  const queues = new Map((await boss.getQueues(jobs.map(({ name }) => name))).map((queue) => [queue.name, queue]))
  for (const job of jobs) {
    const queue = queues.get(job.name)
    const options = queueOptions(job)
    if (!queue) await boss.createQueue(job.name, options)
    else if (Object.entries(options).some(([option, value]) => queue[option as keyof typeof options] !== value))
      await boss.updateQueue(job.name, options)
  }
}

const executorOf = (sql: Sql) => ({
  async executeSql(text: string, values: unknown[] = []) {
    return { rows: (await sql.unsafe(text, values as Value[])) as Record<string, unknown>[] }
  },
})

/** Returns an expression for the names of the queues that have due jobs. */
const dueQueues = (sql: Sql, names: string[]): Fragment => sql`
  array(
    select name from unnest(${names}::text[]) as queue (name)
    where exists (
      select from jobs.job j
      where j.name = queue.name and j.state < 'active' and not j.blocked and j.start_after <= now()))`
