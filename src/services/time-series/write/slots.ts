/** Determines the slot that this node writes into, and opens the next slot when it is due. */
import type { Clock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { nextWritten } from '../store/latest-marks.ts'
import * as store from '../store/slots.ts'

export interface Slots {
  /** Returns the open slot from the cache of this node. A writer that finds the slot closed calls `invalidate` and then `current` again. */
  current(): Promise<number> | number
  invalidate(slot?: number): void
  /** Opens the next slot when it is due, and creates the slot after it. `force` ignores the age and size of the current slot. */
  rotate(force?: boolean): Promise<void>
}

export interface SlotLimits {
  ageHours: number
  /** A slot is closed when it has at least `rows` rows, and on average at least `rowsPerEndpoint` rows for each endpoint. */
  rows: number
  rowsPerEndpoint: number
}

export const slotLimits: SlotLimits = { ageHours: 6, rows: 2_000_000, rowsPerEndpoint: 500 }

/**
 * Maximum time for which the closing of a slot waits for its writers, which take milliseconds. New writers wait meanwhile. After this time,
 * the closing gives up and is retried later.
 */
const closeWaitMs = 500

export function createSlots({ db, now }: { db: Db; now: Clock }, limits: SlotLimits = slotLimits): Slots {
  let cachedSlot: number | Promise<number> | undefined

  async function find(): Promise<number> {
    const open = await store.findOpenSlot(db.sql)
    if (open !== undefined) return open
    const opened = await db.tx(async (sql) => {
      await store.lockSlots(sql)
      const slots = await store.findSlots(sql)
      const existing = slots.find(({ state }) => state === 'open')
      if (existing) return existing.slot
      const slot = slots.find(({ state }) => state === 'ready')?.slot ?? (await store.createSlot(sql))
      await store.openSlot(sql, slot, now())
      return slot
    })
    await saveOpening(opened)
    return opened
  }

  /**
   * Saves the number at which a slot was opened. It is called after the commit, so that rows in older slots have smaller numbers. If the
   * node dies before the number is saved, the next call of `rotate` saves a number.
   */
  const saveOpening = async (slot: number) => store.saveOpening(db.sql, slot, await nextWritten(db.sql))

  async function isDue({ slot, openedDate }: store.Slot): Promise<boolean> {
    const age = now().getTime() - (openedDate?.getTime() ?? 0)
    if (age >= limits.ageHours * 3_600_000) return await store.hasRows(db.sql, slot)
    const rows = await store.estimateRows(db.sql, slot)
    if (rows < limits.rows) return false
    return rows >= limits.rowsPerEndpoint * (await store.countEndpoints(db.sql))
  }

  return {
    current() {
      if (cachedSlot !== undefined) return cachedSlot
      const finding = find().then(
        (slot) => {
          if (cachedSlot === finding) cachedSlot = slot
          return slot
        },
        (error) => {
          if (cachedSlot === finding) cachedSlot = undefined
          throw error
        },
      )
      cachedSlot = finding
      return finding
    },
    invalidate(slot) {
      if (slot === undefined || slot === cachedSlot) cachedSlot = undefined
    },
    async rotate(force = false) {
      const slots = await store.findSlots(db.sql)
      const open = slots.find(({ state }) => state === 'open')
      if (!slots.some(({ state }) => state === 'ready'))
        await db.tx(async (sql) => {
          await store.limitLockWait(sql, closeWaitMs)
          await store.lockSlots(sql)
          if (!(await store.findSlots(sql)).some(({ state }) => state === 'ready')) await store.createSlot(sql)
        })
      if (open && open.openedWritten === null) await saveOpening(open.slot)
      if (!open || !(force || (await isDue(open)))) return
      const opened = await db.tx(async (sql) => {
        await store.limitLockWait(sql, closeWaitMs)
        await store.lockSlots(sql)
        const current = await store.findSlots(sql)
        const next = current.find(({ state }) => state === 'ready')
        // Another node may have closed the slot meanwhile.
        if (!next || !current.some(({ slot, state }) => slot === open.slot && state === 'open')) return undefined
        await store.closeSlot(sql, open.slot)
        await store.openSlot(sql, next.slot, now())
        return next.slot
      })
      // The new slot is cached immediately, so that no write of this node has to look it up.
      cachedSlot = opened
      if (opened !== undefined) await saveOpening(opened)
    },
  }
}
