/**
 * Resolves conflicts of samples without a timestamp (stamped samples) that two nodes received in the same millisecond. README.md explains
 * them in "An acknowledged sample without a timestamp is never replaced".
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import { findLastStamped, findStampedAt } from '../store/samples.ts'
import type { ArrivalTimes } from './arrival-times.ts'
import type { Rows } from './rows.ts'

export interface TimeConflicts {
  /** Returns true if the stored times of these rows' endpoints must be looked up before the rows are written into this slot. */
  needLookup(rows: Rows, slot: number): boolean
  /** Moves stamped samples to times after the stored times of their endpoints, in the transaction that writes the samples. */
  resolve(sql: Sql, rows: Rows, slot: number): Promise<void>
  /** Records which endpoints had a conflict. Returns true if an earlier attempt already stored the rows. */
  record(sql: Sql, rows: Rows): Promise<boolean>
}

const lookupMs = 60_000
const conflictingMax = 10_000
/** For this time after the first use of a slot, all endpoints are looked up. */
export const newSlotMs = 2000

export interface TimeConflictOptions {
  newSlotMs?: number | undefined
  /** Returns whether no other node is alive. */
  isAlone(): boolean
}

export function createTimeConflicts(
  arrivals: ArrivalTimes,
  { newSlotMs: isNewForMs = newSlotMs, isAlone }: TimeConflictOptions,
): TimeConflicts {
  let [lastSlot, firstSeenMs] = [Number.NaN, Number.NEGATIVE_INFINITY]

  /**
   * Returns whether the slot is new, so that endpoints must be looked up: times in the previous slot may come from another node, or from
   * this node before a restart. A node that was alone during that slot needs no lookups, which would serialize the writes of the first two
   * seconds.
   */
  function isNew(slot: number): boolean {
    if (slot !== lastSlot) {
      const hasWrittenBefore = !Number.isNaN(lastSlot) && monotonicMs() - firstSeenMs >= isNewForMs
      lastSlot = slot
      firstSeenMs = hasWrittenBefore && isAlone() ? monotonicMs() - isNewForMs : monotonicMs()
    }
    return monotonicMs() - firstSeenMs < isNewForMs
  }

  /** Endpoints with a recent conflict, oldest first. The value is the time until which they are looked up. */
  const conflicting = new Map<number, number>()

  function hasConflict(endpointNo: number): boolean {
    const until = conflicting.get(endpointNo)
    if (until === undefined) return false
    if (until > monotonicMs()) return true
    conflicting.delete(endpointNo)
    return false
  }

  function recordConflict(endpointNo: number) {
    conflicting.delete(endpointNo)
    conflicting.set(endpointNo, monotonicMs() + lookupMs)
    if (conflicting.size > conflictingMax) conflicting.delete(conflicting.keys().next().value!)
  }

  return {
    needLookup(rows, slot) {
      const checksAll = isNew(slot)
      return (
        (checksAll || conflicting.size > 0) &&
        rows.stamped().some(({ endpointNo }) => checksAll || hasConflict(endpointNo))
      )
    },
    async resolve(sql, rows, slot) {
      const all = isNew(slot)
      const from = new Map<number, number>()
      for (const { endpointNo, time } of rows.stamped())
        if (!from.has(endpointNo) && (all || hasConflict(endpointNo))) from.set(endpointNo, time)
      const last = await findLastStamped(sql, from)
      rows.moveStamped(last)
      for (const [endpointNo, time] of last) arrivals.used(endpointNo, time)
    },
    async record(sql, rows) {
      const stamped = rows.stamped()
      const taken = await findStampedAt(sql, stamped)
      const writtenAt = new Map(
        stamped.map(({ row, endpointNo, time }) => [`${endpointNo} ${time}`, rows.writtenTimes[row]!]),
      )
      if (taken.some(({ endpointNo, ts, written }) => writtenAt.get(`${endpointNo} ${ts}`) === written)) return true
      for (const { endpointNo } of taken) recordConflict(endpointNo)
      return false
    },
  }
}
