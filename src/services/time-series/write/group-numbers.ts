/**
 * Gives each group of rows its first number in the order of writes. A group needs its number when its write starts. While only one group
 * is open, it requests its number in advance, so that its write does not wait. If another group requests a number before that write
 * starts, the first number is dropped: rows that arrive after the other group was acknowledged must not get a smaller number.
 */
import type { Rows } from './rows.ts'
import type { WriteOrder } from './write-order.ts'

export interface GroupNumbers {
  /** A group was created, and rows are going to be added. */
  opened(rows: Rows): void
  /** Sets `first` at the start of an attempt to write. A group keeps the number of its first attempt. */
  assign(rows: Rows): Promise<void>
  /** Sets another number, for rows that are written again. */
  renew(rows: Rows): Promise<void>
  /** Removes a group that was given up. */
  abandoned(rows: Rows): void
  /** Returns the numbers of groups whose write has not started, as far as they are known. */
  pending(): number[]
  isEmpty(): boolean
}

export function createGroupNumbers(order: Pick<WriteOrder, 'next'>): GroupNumbers {
  /** Groups whose write has not started. */
  const unstarted: Rows[] = []
  const requested = new WeakMap<Rows, Promise<number>>()

  function remove(rows: Rows) {
    const index = unstarted.indexOf(rows)
    if (index >= 0) unstarted.splice(index, 1)
  }

  function request(rows: Rows): Promise<number> {
    withdrawOthers(rows)
    const number = order.next()
    requested.set(rows, number)
    number.then(
      (first) => {
        if (requested.get(rows) === number) rows.first = first
      },
      () => {},
    )
    return number
  }

  /** Full groups keep their numbers, since no rows are added to them. */
  function withdrawOthers(rows: Rows) {
    for (const other of unstarted)
      if (other !== rows && !other.isFull) {
        requested.delete(other)
        other.first = undefined
      }
  }

  return {
    opened(rows) {
      const isOnlyOne = unstarted.every(({ isFull }) => isFull)
      unstarted.push(rows)
      if (isOnlyOne) request(rows)
      else withdrawOthers(rows)
    },
    async assign(rows) {
      remove(rows)
      try {
        rows.first = await (requested.get(rows) ?? request(rows))
      } catch (error) {
        requested.delete(rows)
        throw error
      }
    },
    async renew(rows) {
      rows.first = await request(rows)
    },
    abandoned: remove,
    pending: () => unstarted.flatMap(({ first }) => first ?? []),
    isEmpty: () => unstarted.length === 0,
  }
}
