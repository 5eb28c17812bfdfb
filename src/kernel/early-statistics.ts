/**
 * Analyzes tables soon after they have grown (ADR 34). Connections keep the plan of a statement until the statistics of its tables change.
 * A plan that was made while a table was empty may read a whole index for each row after the table has grown. Autovacuum analyzes a new
 * table only after a minute or more.
 */
import { sleepUnlessAborted } from './clock.ts'
import type { Db, Sql } from './db.ts'
import type { Log } from './log.ts'
import { statisticsNotUpdated } from './log-messages.ts'

export interface EarlyStatistics {
  start(): void
  stop(): Promise<void>
}

const pauseMs = 2000
const pauseAfterFailureMs = 30_000
/** A node that sent fewer statements than this during the pause is idle and does not check the tables. */
const statementsMin = 100

export function createEarlyStatistics({ db, log }: { db: Db; log: Log }): EarlyStatistics {
  const stopping = new AbortController()
  let running: Promise<void> | undefined

  async function checkUntilStopped() {
    let pause = pauseMs
    let answeredBefore = db.answered()
    while (!stopping.signal.aborted) {
      await sleepUnlessAborted(pause, stopping.signal)
      const isBusy = db.answered() - answeredBefore >= statementsMin
      pause = pauseMs
      if (isBusy && !stopping.signal.aborted) {
        try {
          await analyzeGrownTables(db.sql)
        } catch (error) {
          statisticsNotUpdated(log, { err: error })
          pause = pauseAfterFailureMs
        }
      }
      answeredBefore = db.answered()
    }
  }

  return {
    start() {
      running ??= checkUntilStopped()
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/**
 * Analyzes the tables that have at least twice as many rows as in their statistics, and returns the number of these tables. Tables with
 * more than a million rows are left to autovacuum. Tables that another session is analyzing are skipped.
 */
export async function analyzeGrownTables(sql: Sql): Promise<number> {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and c.relpersistence <> 't' and pg_has_role(c.relowner, 'usage')
      and n.nspname not in ('pg_catalog', 'information_schema')
      and pg_stat_get_live_tuples(c.oid) between 100 + 2 * greatest(c.reltuples, 0) and 1000000`
  for (const { name } of tables) await sql.unsafe(`analyze (skip_locked) ${name}`)
  return tables.length
}
