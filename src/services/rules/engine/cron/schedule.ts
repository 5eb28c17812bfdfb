/** Keeps the next time of each item, and finds the items whose time has come. */
import { createTimeHeap } from './heap.ts'

export interface Schedule<T> {
  get(id: string): T | undefined
  ids(): Iterable<string>
  /** Adds or replaces an item. Without a time, the item stays but never comes due. */
  set(id: string, item: T, time: number | undefined): void
  delete(id: string): void
  /** Removes the time of the first item that is due, and returns the item with this time. The item itself stays. */
  takeDue(until: number): { item: T; time: number } | undefined
  readonly first: number | undefined
  /** Number of entries in memory, including outdated entries. */
  readonly size: number
}

interface Entry<T> {
  id: string
  item: T
  time: number | undefined
}

/**
 * Maximum number of outdated entries, in addition to one for each item. An entry is outdated when its item was replaced or deleted.
 * `takeDue` removes it only when its time comes, which may be in years, so `removeOutdated` limits their number.
 */
const outdatedMax = 100

export function createSchedule<T>(): Schedule<T> {
  const entries = new Map<string, Entry<T>>()
  const heap = createTimeHeap<Entry<T>>()
  const isCurrent = (entry: Entry<T>) => entries.get(entry.id) === entry

  function removeOutdated() {
    if (heap.size <= 2 * entries.size + outdatedMax) return
    heap.clear()
    for (const entry of entries.values()) if (entry.time !== undefined) heap.push(entry.time, entry)
  }

  return {
    get: (id) => entries.get(id)?.item,
    ids: () => entries.keys(),
    set(id, item, time) {
      const entry = { id, item, time }
      entries.set(id, entry)
      if (time !== undefined) heap.push(time, entry)
      removeOutdated()
    },
    delete(id) {
      entries.delete(id)
      removeOutdated()
    },
    takeDue(until) {
      for (let found = heap.popUntil(until); found; found = heap.popUntil(until)) {
        const { time, item: entry } = found
        if (!isCurrent(entry)) continue
        entry.time = undefined
        return { item: entry.item, time }
      }
      return undefined
    },
    get first() {
      return heap.first
    },
    get size() {
      return heap.size
    },
  }
}
