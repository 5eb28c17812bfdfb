/** Writes traces in batches. The end of an event is written in the same transaction, so that an event ends exactly once. */
import { type Clock, sleep } from '../../../kernel/clock.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { DatabaseUnavailable } from '../../../kernel/errors.ts'
import { createGroupCommit, type Group } from '../../../kernel/group-commit.ts'
import { type DeadLetterRow, insertDeadLetters } from './store/dead-letters.ts'
import { deleteEvents } from './store/events.ts'
import { copyTraces, exists, insertChanges, type TraceChange } from './store/traces.ts'
import { type AllowDetails, createTraceRows, type TraceRows } from './trace-rows.ts'
import { type EndedActions, type NewTrace, traceOfAction } from './traces.ts'

export interface LedgerEntry {
  traces?: NewTrace[]
  deadLetters?: DeadLetterRow[]
  /** The row of `rules.events` whose events have all ended. */
  endedRow?: number
}

export interface Ledger {
  /** Writes traces of actions that end after their rule. */
  actions: EndedActions
  /** Returns microseconds since 1970 that increase with every call, so that traces have an order. */
  nextMicros(): number
  /** Writes an entry. Resolves when it is durable. While the database is unreachable, it waits. */
  write(entry: LedgerEntry): Promise<void>
  drained(): Promise<void>
}

interface Pages extends Group {
  rows: TraceRows
  first: NewTrace | undefined
  changes: Map<string, TraceChange>
  deadLetters: DeadLetterRow[]
  endedRows: number[]
}

/**
 * Returns the minimum time between the starts of two writes. It is 0 if the last write had only a few traces, because the caller that
 * executes a rule may wait for its trace.
 */
const pauseMsAfter = (lastCount: number) => (lastCount > 4 ? 15 : 0)

const rowsMax = 5000
const bytesMax = 4 * 1024 * 1024
const pendingBytesMax = 64 * 1024 * 1024
const hourMs = 3_600_000
const microsOfDay = 86_400_000_000

/** Returns a function that returns microseconds since 1970. They increase with every call, so that traces have an order. */
export function createMicros(now: Clock) {
  let last = 0
  return () => {
    last = Math.max(last + 1, now().getTime() * 1000)
    return last
  }
}

export function createLedger({
  db,
  log,
  metrics,
  now,
  quota,
}: Pick<Kit, 'db' | 'log' | 'metrics' | 'now'> & { quota: Pick<Kit['quota'], 'allowsDetails'> }): Ledger {
  const allows: AllowDetails = (tenantId, bytes) => quota.allowsDetails(tenantId, 'traces', bytes)
  const nextMicros = createMicros(now)
  const commit = createGroupCommit<Pages>({
    name: 'rule_traces',
    create: createPages,
    async write(pages, attempt) {
      await writePages(db, pages, attempt)
      // After an error, the buffer may still be on its way to the socket, so it is not reused.
      if (attempt === 0) pages.rows.release()
    },
    isTemporary: (error) => !/^(22|54)/.test((error as { code?: string } | null)?.code ?? ''),
    log,
    metrics,
    everyMs: pauseMsAfter,
    // Only one write runs at a time, because the end of an event must not be durable before its traces.
    concurrentWrites: 1,
    pendingBytesMax,
    // An event whose end is not written runs again after a restart, so the writer does not give up.
    timeoutMs: hourMs,
  })
  /** Resolves when the entries that wait for room are added. They are added in the order of the calls. */
  let waiting: Promise<unknown> | undefined

  function add({ traces = [], deadLetters = [], endedRow }: LedgerEntry): Promise<void> {
    const pages = commit.current()
    for (const trace of traces) addTrace(pages, trace, trace.createdMicros ?? nextMicros(), allows)
    pages.deadLetters.push(...deadLetters)
    if (endedRow !== undefined) pages.endedRows.push(endedRow)
    return commit.committed()
  }
  async function addWithRoom(entry: LedgerEntry): Promise<{ committed: Promise<void> }> {
    for (;;)
      try {
        return { committed: add(entry) }
      } catch (error) {
        if (!DatabaseUnavailable.is(error)) throw error
        await sleep(50)
      }
  }

  function write(entry: LedgerEntry): Promise<void> {
    if (!waiting)
      try {
        return add(entry)
      } catch (error) {
        // Too many bytes are pending, so this entry and all later entries wait.
        if (!DatabaseUnavailable.is(error)) throw error
      }
    const added = (waiting ?? Promise.resolve()).then(() => addWithRoom(entry))
    // The caller gets the failure. Later entries are still added.
    const settled = added.then(
      () => {},
      () => {},
    )
    waiting = settled
    void settled.then(() => {
      if (waiting === settled) waiting = undefined
    })
    return added.then(({ committed }) => committed)
  }

  return {
    nextMicros,
    write,
    actions: {
      async ended(sql, actions) {
        const pages = createPages()
        for (const { action, outcome, durationMs } of actions)
          addTrace(pages, traceOfAction(action, outcome, durationMs), nextMicros(), allows)
        if (actions.length > 0) writeTraces(sql, pages)
      },
      write: ({ action, outcome, durationMs }) => write({ traces: [traceOfAction(action, outcome, durationMs)] }),
      isEnded: (action) => exists(db.sql, action),
    },
    drained: commit.drained,
  }
}

/**
 * Writes the traces of a run to the ledger, after everything that the run started is durable or has its trace in the ledger. Resolves when
 * the traces are in the ledger, which stores its entries in order.
 */
export async function writeWhenSettled(
  ledger: Pick<Ledger, 'write'>,
  { traces, unsettled }: { traces: NewTrace[]; unsettled: Promise<void>[] },
): Promise<void> {
  if (unsettled.length > 0) await Promise.all(unsettled)
  void ledger.write({ traces })
}

function createPages(): Pages {
  const rows = createTraceRows()
  const deadLetters: DeadLetterRow[] = []
  const endedRows: number[] = []
  return {
    rows,
    first: undefined,
    changes: new Map(),
    deadLetters,
    endedRows,
    get count() {
      return rows.count
    },
    get bytes() {
      return rows.bytes + deadLetters.length * 1000 + endedRows.length * 50
    },
    get isFull() {
      return rows.count >= rowsMax || rows.bytes >= bytesMax
    },
  }
}

/** Returns the day of a time. The day of the last call is cached. */
const dayOf = (() => {
  let [number, text] = [-1, '']
  return (micros: number) => {
    const dayNumber = Math.floor(micros / microsOfDay)
    if (dayNumber !== number) [number, text] = [dayNumber, new Date(micros / 1000).toISOString().slice(0, 10)]
    return text
  }
})()

function addTrace(pages: Pages, trace: NewTrace, micros: number, allows: AllowDetails) {
  pages.first ??= trace
  pages.rows.add(trace, micros, allows)
  const day = dayOf(micros)
  const { tenantId, entityId, entityType, durationMs } = trace
  const key = `${entityId} ${day}`
  const change = pages.changes.get(key)
  if (change) {
    change.count++
    change.totalMs += durationMs
    change.minMs = Math.min(change.minMs, durationMs)
    change.maxMs = Math.max(change.maxMs, durationMs)
    change.lastMs = durationMs
    return
  }
  const sums = { count: 1, totalMs: durationMs, minMs: durationMs, maxMs: durationMs, lastMs: durationMs }
  pages.changes.set(key, { tenantId, entityId, entityType, day, ...sums })
}

async function writePages(db: Db, pages: Pages, attempt: number) {
  const { first, deadLetters, endedRows } = pages
  // If the first trace exists, the earlier attempt was committed. The other statements can run twice without harm.
  const areTracesWritten = attempt > 0 && first !== undefined && (await exists(db.sql, first))
  await db.tx(async (sql) => {
    if (deadLetters.length > 0) await insertDeadLetters(sql, deadLetters)
    if (endedRows.length > 0) deleteEvents(sql, endedRows)
    if (first !== undefined && !areTracesWritten) writeTraces(sql, pages)
  })
}

/** Sends the statements without waiting for their answers. COMMIT follows the statements, and fails if a statement fails. */
function writeTraces(sql: Sql, { rows, changes }: Pages) {
  insertChanges(sql, [...changes.values()])
  copyTraces(sql, () => rows.finish()).catch(() => {})
}
