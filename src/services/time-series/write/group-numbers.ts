/**
 * Gives each group of rows its first number in the order of writes when its write starts. A single open group requests its number in
 * advance. The number is dropped if another group requests a number before that write starts, because rows that arrive after the other
 * group was acknowledged must not get a smaller number.
 */
import type { Rows } from './rows.ts'
import type { WriteOrder } from './write-order.ts'

export interface GroupNumbers {
  /** Called when a group was created, before rows are added to it. */
  opened(rows: Rows): void
  /** Sets `first` when an attempt to write starts. Later attempts of the group keep the number. */
  assign(rows: Rows): Promise<void>
  /** Sets another number, for rows that are written again. */
  renew(rows: Rows): Promise<void>
  /** Removes a group that was given up. */
  abandoned(rows: Rows): void
  /** Returns the known numbers of groups whose write has not started. */
  pending(): number[]
  isEmpty(): boolean
}

export function createGroupNumbers(order: Pick<WriteOrder, 'next'>): GroupNumbers {
  /** Groups whose write has not started. */
  const unstarted: Rows[] = []

  function remove(rows: Rows) {
    const index = unstarted.indexOf(rows)
    if (index >= 0) unstarted.splice(index, 1)
  }

  function request(rows: Rows): Promise<number> {
    withdrawOthers(rows)
    const number = order.next()
    rows.requested = number
    number.then(
      (first) => {
        if (rows.requested === number) rows.first = first
      },
      () => {},
    )
    return number
  }

  /** Drops the numbers of the other groups. Full groups keep their numbers, because no rows are added to them. */
  function withdrawOthers(rows: Rows) {
    for (const other of unstarted)
      if (other !== rows && !other.isFull) {
        other.requested = undefined
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
        rows.first = await (rows.requested ?? request(rows))
      } catch (error) {
        rows.requested = undefined
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
