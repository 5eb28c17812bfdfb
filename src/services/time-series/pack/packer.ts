/**
 * Periodic maintenance: opens new slots, packs closed slots, drops packed slots, and deletes data of deleted endpoints. All nodes try to
 * get a transaction-scoped lock; the node that gets it does the work.
 */
import type { Clock } from '../../../kernel/clock.ts'
import { monotonicMs, sleep } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import { createPace, type Pace } from '../../../kernel/pace.ts'
import type { Retention } from '../delete/retention.ts'
import { packingFailed } from '../log-messages.ts'
import type { Numbers } from '../numbers/numbers.ts'
import * as chunks from '../store/chunks.ts'
import * as store from '../store/slots.ts'
import type { Slots } from '../write/slots.ts'
import { monthsFor } from './months.ts'
import { packSlot } from './pack-slot.ts'

export interface Packer {
  /** Runs all due maintenance once. `start` calls `round` periodically. */
  round(): Promise<void>
  start(): void
  /** Aborts the work in progress within a second. */
  stop(): Promise<void>
}

export interface PackerOptions {
  db: Db
  slots: Slots
  numbers: Numbers
  now: Clock
  log: Log
  metrics: Metrics
  /** Retention of series; expired values are not packed. */
  retention: Pick<Retention, 'firstDays' | 'rerun'>
  /** Further work for one node at a time. `check` throws when the process shuts down. */
  afterPacking(check: () => void): Promise<void>
}

class Stopped extends Error {
  override readonly name = 'Stopped'
}

const everyMs = 10_000
const lockTimeout = '55P03'
const undefinedTable = '42P01'
const codeOf = (error: unknown) => (error as { code?: string } | null)?.code
const isLockTimeout = (error: unknown) => codeOf(error) === lockTimeout

export function createPacker({
  db,
  slots,
  numbers,
  now,
  log,
  metrics,
  retention,
  afterPacking,
}: PackerOptions): Packer {
  const packedSamples = metrics.counter(
    'waypost_time_series_packed_samples_total',
    'Number of samples packed into chunks.',
  )
  let stopping = false
  const createUpcomingMonths = upcomingMonthsOf(db, now)
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined

  const check = () => {
    if (stopping) throw new Stopped()
  }

  /** Returns the extent of a slot, or undefined if another node has packed and dropped it. */
  async function findExtent(slot: number, pace: Pace): Promise<chunks.SlotExtent | undefined> {
    const pause = () => {
      check()
      return pace()
    }
    try {
      return await chunks.findExtent(db.sql, slot, pause)
    } catch (error) {
      if (codeOf(error) === undefinedTable) return undefined
      throw error
    }
  }

  async function pack(slot: number): Promise<boolean> {
    const began = monotonicMs()
    const pace = createPace()
    const extent = await findExtent(slot, pace)
    if (!extent) return false
    const { days, longestText } = extent
    await createMonths(db, monthsFor(days, now()))
    const firstDays = await retention.firstDays()
    const totals = await db.tx(async (sql) => {
      if (!(await chunks.tryPackingLock(sql)) || !(await store.lockClosedSlot(sql, slot))) return undefined
      const sum = await packSlot(sql, slot, { longestText, numbers, firstDays, check, pace })
      await store.markPacked(sql, slot)
      return sum
    })
    if (!totals) return false
    packedSamples.inc(totals.samples)
    // Expired values may also be stored as latest values. The next run of the retention deletes these.
    if (totals.expired > 0) retention.rerun()
    log.info({ slot, ...totals, ms: Math.round(monotonicMs() - began) }, 'a slot of time series was packed')
    return true
  }

  async function round() {
    await createUpcomingMonths()
    await slots.rotate()
    const slotRows = await store.findSlots(db.sql)
    // Slots are packed in order, because values of later slots replace values of earlier slots.
    for (const { slot } of slotRows.filter(({ state }) => state === 'closed')) {
      check()
      if (!(await pack(slot))) break
    }
    const hasPacked = slotRows.some(({ state }) => state === 'closed' || state === 'packed')
    const packed = hasPacked ? (await store.findSlots(db.sql)).filter(({ state }) => state === 'packed') : []
    for (const { slot } of packed) {
      check()
      await db.tx((sql) => store.dropSlot(sql, slot))
    }
    await afterPacking(check)
  }

  function tick() {
    running ??= round()
      .catch((error) => {
        if (stopping || error instanceof Stopped) return
        if (isLockTimeout(error))
          log.info('a long read holds a partition of time series; dropping it is retried in 10 s')
        else packingFailed(log, { err: error })
      })
      .finally(() => {
        running = undefined
      })
  }

  return {
    round,
    start() {
      timer = setInterval(tick, everyMs).unref()
      tick()
    },
    async stop() {
      stopping = true
      clearInterval(timer)
      if (running) await Promise.race([running, sleep(700)])
      await db.sql.end({ timeout: 0 })
    },
  }
}

/**
 * Returns a function that creates the partitions that will soon be needed, once per month. Packing creates partitions that are still
 * missing.
 */
function upcomingMonthsOf(db: PackerOptions['db'], now: PackerOptions['now']) {
  let created: string | undefined
  return async () => {
    const months = monthsFor([], now())
    const names = months.map(({ name }) => name).join()
    if (names === created) return
    await createMonths(db, months)
    created = names
  }
}

/**
 * Creates missing month partitions in separate transactions, because the lock on the table of chunks must not last as long as the packing.
 */
async function createMonths(db: PackerOptions['db'], months: ReturnType<typeof monthsFor>) {
  const existing = await chunks.findMonths(db.sql)
  for (const month of months) {
    if (existing.has(month.name)) continue
    await db.tx(async (sql) => {
      if (!(await chunks.tryPackingLock(sql))) return
      if (!(await chunks.findMonths(sql)).has(month.name)) await chunks.createMonth(sql, month)
    })
  }
}
