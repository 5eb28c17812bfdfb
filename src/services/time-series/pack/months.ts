/** Determines the monthly partitions of the table of chunks. */

import type { Month } from '../store/chunks.ts'
import { dayMs, dayOf } from './chunk-builder.ts'

/** Days before this date, or in a month at least `monthsAhead` months after the current month, are in the partition `chunks_far`. */
const earliest = Date.UTC(2000, 0, 1)
const monthsAhead = 3

const prefix = 'chunks_'

const monthFrom = (year: number, month: number): Month => {
  const [from, to] = [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)]
  const name = prefix + new Date(from).toISOString().slice(0, 7).replace('-', '')
  return { name, from: dayOf(from), to: dayOf(to) }
}

/** Parses the name of a partition; undefined for `chunks_far`. */
export function monthOf(name: string): Month | undefined {
  const [, year, month] = name.match(/^chunks_(\d{4})(\d{2})$/) ?? []
  return year ? monthFrom(Number(year), Number(month) - 1) : undefined
}

/** Returns the months of these days, the current month and the next two months. Days in `chunks_far` have no month. */
export function monthsFor(days: number[], now: Date): Month[] {
  const last = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + monthsAhead, 1)
  const months = new Map<string, Month>()
  const add = (time: number) => {
    if (time < earliest || time >= last) return
    const date = new Date(time)
    const month = monthFrom(date.getUTCFullYear(), date.getUTCMonth())
    months.set(month.name, month)
  }
  for (let ahead = 0; ahead < monthsAhead; ahead++) add(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1))
  for (const day of days) add(day * dayMs)
  return [...months.values()]
}
