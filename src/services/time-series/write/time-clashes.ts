/**
 * Stamped samples of one endpoint that two nodes received in the same millisecond. The unique key refuses the rows of the second
 * node; it moves its samples behind what is stored. While both go on receiving, the endpoint is looked up before each write. The key
 * holds within a slot, so in the first seconds of a slot every endpoint is looked up.
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import { findLastStamped, findStampedAt } from '../store/samples.ts'
import type { ArrivalTimes } from './arrival-times.ts'
import type { Rows } from './rows.ts'

export interface TimeClashes {
  /** Whether the rows hold stamped samples whose endpoints have to be looked up before they are written into this slot. */
  concern(rows: Rows, slot: number): boolean
  /** In the transaction that writes them: moves stamped samples of such endpoints behind those that are stored. */
  resolve(sql: Sql, rows: Rows, slot: number): Promise<void>
  /** After a refusal: remembers which endpoints clashed. True when the rows were stored by an earlier attempt. */
  learn(sql: Sql, rows: Rows): Promise<boolean>
}

const rememberedMs = 60_000
const rememberedMax = 10_000
/** Others may have written the same times into the slot before for so long. */
export const newSlotMs = 2000

export function createTimeClashes(arrivals: ArrivalTimes, isNewForMs = newSlotMs): TimeClashes {
  let [lastSlot, firstSeenMs] = [Number.NaN, 0]

  function isNew(slot: number): boolean {
    if (slot !== lastSlot) [lastSlot, firstSeenMs] = [slot, monotonicMs()]
    return monotonicMs() - firstSeenMs < isNewForMs
  }

  /** By endpoint, the end of the time for which it is remembered; the oldest first. */
  const clashing = new Map<number, number>()

  function isClashing(endpointNo: number): boolean {
    const until = clashing.get(endpointNo)
    if (until === undefined) return false
    if (until > monotonicMs()) return true
    clashing.delete(endpointNo)
    return false
  }

  function remember(endpointNo: number) {
    clashing.delete(endpointNo)
    clashing.set(endpointNo, monotonicMs() + rememberedMs)
    if (clashing.size > rememberedMax) clashing.delete(clashing.keys().next().value!)
  }

  return {
    concern(rows, slot) {
      const all = isNew(slot)
      return (all || clashing.size > 0) && rows.stamped().some(({ endpointNo }) => all || isClashing(endpointNo))
    },
    async resolve(sql, rows, slot) {
      const all = isNew(slot)
      const from = new Map<number, number>()
      for (const { endpointNo, time } of rows.stamped())
        if (!from.has(endpointNo) && (all || isClashing(endpointNo))) from.set(endpointNo, time)
      const last = await findLastStamped(sql, from)
      rows.moveStamped(last)
      for (const [endpointNo, time] of last) arrivals.used(endpointNo, time)
    },
    async learn(sql, rows) {
      const own = rows.stamped()
      const taken = await findStampedAt(sql, own)
      const writtenAt = new Map(own.map(({ row, endpointNo, time }) => [`${endpointNo} ${time}`, rows.writtens[row]!]))
      if (taken.some(({ endpointNo, ts, written }) => writtenAt.get(`${endpointNo} ${ts}`) === written)) return true
      for (const { endpointNo } of taken) remember(endpointNo)
      return false
    },
  }
}
