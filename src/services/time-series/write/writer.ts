/**
 * Samples into the open slot, many at once. Rows are only ever appended, so a write of which nothing was heard is simply done
 * again, and of two rows with the same time the one that was stamped later counts.
 */
import type { Clock } from '../../../kernel/clock.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import { createGroupCommit, type GroupCommit } from '../../../kernel/group-commit.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { copyGroups, copySamples, isSlotClosed } from '../store/samples.ts'
import { createRows, type Rows } from './rows.ts'
import type { Slots } from './slots.ts'

export interface Writer extends GroupCommit<Rows> {
  /** For so many samples, in their order: the first of that many stamps. */
  stamp(count: number): number
  /** The first stamp of what is not stored yet. */
  oldestPending(): number
}

export interface WriterOptions {
  db: Db
  slots: Slots
  now: Clock
  log: Log
  metrics: Metrics
  /** In the transaction that stores them, where there is something to do. */
  storing?: { wanted(): boolean; run(sql: Sql, rows: Rows): Promise<void> }
  /** They are durable. */
  stored?(rows: Rows): void
  patienceMs?: number
}

const valuesMax = 5000
const everyMs = 15
export const writesAtOnce = 4
const rememberedMax = 256
const pendingBytesMax = 192 * 1024 * 1024

const codeOf = (error: unknown) => (error as { code?: string } | null)?.code
/** What the data would be to blame for. */
const dataTrouble = /^(22|54)/
/** The partition was dropped: its slot was packed, or the database is another one. */
const noSuchTable = '42P01'

interface Committed {
  rows: Rows
  slot: number
}

export function createWriter(options: WriterOptions): Writer {
  const { db, slots, now, storing } = options
  let stamped = 0
  /** In the order of their stamps. */
  const began: Rows[] = []
  /** Those that were committed before one that began earlier. */
  let committed: Committed[] = []

  /**
   * A slot was closed between two writes: what was stamped later may be in the older slot, where it would count less. So it is
   * written once more, together with the earlier one.
   */
  const overtaken = (rows: Rows, slot: number) => {
    const mine = began.indexOf(rows)
    return committed.filter((one) => one.slot < slot && began.indexOf(one.rows) > mine)
  }

  function settle(rows: Rows, slot: number) {
    committed.push({ rows, slot })
    // A write of which nothing is ever heard must not make all others be remembered.
    if (committed.length > rememberedMax) giveUp(began[0]!)
    // Nothing older is on its way: these need not be remembered.
    while (began.length > 0 && committed.some((one) => one.rows === began[0])) {
      const over = began.shift()
      committed = committed.filter((one) => one.rows !== over)
    }
  }

  async function write(rows: Rows) {
    for (let refused = 0; ; refused++) {
      const slot = await slots.current()
      const again = overtaken(rows, slot)
      try {
        if (again.length === 0 && !storing?.wanted()) await copySamples(db, slot, rows)
        else
          await db.tx(async (sql) => {
            await copyGroups(sql, slot, [rows, ...again.map((one) => one.rows)])
            if (storing?.wanted()) await storing.run(sql, rows)
          })
        for (const one of again) one.slot = slot
        settle(rows, slot)
        options.stored?.(rows)
        return
      } catch (error) {
        const closed = isSlotClosed(error) || codeOf(error) === noSuchTable
        slots.forget(slot)
        if (!closed || refused === 5) throw error
      }
    }
  }

  /** Given up: nobody waits for it any more. */
  function giveUp(rows: Rows) {
    const place = began.indexOf(rows)
    if (place >= 0) began.splice(place, 1)
  }

  const commit = createGroupCommit<Rows>({
    name: 'time_series',
    create() {
      const rows = createRows(valuesMax)
      began.push(rows)
      return rows
    },
    write,
    abandoned: giveUp,
    mayPass: (error) => !dataTrouble.test(codeOf(error) ?? ''),
    log: options.log,
    metrics: options.metrics,
    everyMs,
    atOnce: writesAtOnce,
    pendingBytesMax,
    ...(options.patienceMs !== undefined && { patienceMs: options.patienceMs }),
  })

  return {
    ...commit,
    stamp(count) {
      const first = Math.max(stamped + 1, now().getTime() * 1000)
      stamped = first + count - 1
      return first
    },
    oldestPending() {
      let oldest = Number.POSITIVE_INFINITY
      for (const rows of began) for (const written of rows.writtens) if (written < oldest) oldest = written
      return oldest
    },
  }
}
