/**
 * Checks: a node reads some values from the database repeatedly, so that it finds a change even if the signal about it was lost. All checks
 * that are due share one statement, so that an idle node needs few transactions.
 */
import { monotonicMs } from '../clock.ts'
import type { Db, Fragment, Sql } from '../db.ts'
import type { Log } from '../log.ts'
import type { Members } from '../members.ts'
import { checksFailed } from './log-messages.ts'

export interface Check {
  name: string
  /** Returns an SQL expression. It must be cheap, because each node evaluates it all the time. */
  expression(sql: Sql): Fragment
  /** Receives the value of the expression, as JSON. The function does not wait for the work that it starts. */
  handle(value: unknown): void
  /** The interval on a node that is alone. Default: no checks, because no other node sends signals that could be lost. */
  aloneMs?: number
}

export interface Checks {
  declare(check: Check): void
  start(): void
  /** Prevents further checks. Resolves when none is running. */
  stop(): Promise<void>
}

/**
 * Interval of the checks. A message that a dead node has stored but not sent is delayed by this interval plus `staleMs` (signals/rows.ts),
 * together less than a second (document 5, 1.9).
 */
const everyMs = 650

export function createChecks({ db, members, log }: { db: Db; members: Pick<Members, 'isAlone'>; log: Log }): Checks {
  const checks: { check: Check; ranMs: number }[] = []
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined

  function takeDue(): Check[] {
    const [now, isAlone] = [monotonicMs(), members.isAlone()]
    const due = checks.filter(
      ({ check, ranMs }) => !isAlone || (check.aloneMs !== undefined && now - ranMs >= check.aloneMs),
    )
    for (const item of due) item.ranMs = now
    return due.map(({ check }) => check)
  }

  function tick() {
    if (running) return
    const due = takeDue()
    if (due.length === 0) return
    running = run(db.sql, due)
      .catch((error) => checksFailed(log, { err: error }))
      .finally(() => {
        running = undefined
      })
  }

  return {
    declare: (check) => void checks.push({ check, ranMs: Number.NEGATIVE_INFINITY }),
    start() {
      timer = setInterval(tick, everyMs).unref()
    },
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

async function run(sql: Sql, checks: Check[]) {
  const values = checks
    .map((check) => sql`to_jsonb(${check.expression(sql)})`)
    .reduce((before, value) => sql`${before}, ${value}`)
  const [row] = await sql<{ values: unknown[] }[]>`select jsonb_build_array(${values}) as values`
  for (const [index, check] of checks.entries()) check.handle(row!.values[index])
}
