/** The samples of a task that are not packed yet, or, where they are too many, the smaller parts in which it can be read. */
import type { Db } from '../../../kernel/db.ts'
import * as store from '../store/reading.ts'
import type { Span } from '../times.ts'
import { countOf, type HotFormat, type HotPoints, hotPoints, rangeOf } from './hot.ts'
import { grouped, type Task } from './plan.ts'

export interface Hot {
  /** What of the task was read; undefined: nothing. */
  now?: Task
  points: HotPoints
  later: Task[]
}

interface How {
  inOrder: boolean
  withWriting: boolean
}

const plainly: How = { inOrder: false, withWriting: false }

export function createHotLoading(db: Db, valuesMax: number) {
  const limitOf = ({ width }: HotFormat) => Math.max(1, Math.floor(valuesMax / width)) + 1

  function find(task: Task, format: HotFormat, descending: boolean, how: How) {
    const asked = { ...format, ...task }
    if (isMoment(task)) return store.findHotAt(db.sql, asked)
    const options = { limit: limitOf(format), withWriting: how.withWriting, descending }
    if (how.inOrder) return db.tx((sql) => store.findFirstHot(sql, asked, options))
    return store.findHot(db.sql, asked, options)
  }

  /** First as cheaply as it mostly can be done. */
  return async function load(task: Task, format: HotFormat, descending: boolean, how = plainly): Promise<Hot> {
    const none: Hot = { now: task, points: new Map(), later: [] }
    if (format.sets.length === 0) return none
    const rows = await find(task, format, descending, how)
    if (!rows) return none
    const limit = limitOf(format)
    const isCut = !isMoment(task) && countOf(rows) >= limit
    if (isCut && task.endpointNos.length > 1) {
      const counts = new Map((await store.countHot(db.sql, { ...format, ...task })).map((one) => [one.key, one.points]))
      const parts = grouped(task.endpointNos, (no) => counts.get(no) ?? 0, limit - 1)
      return { points: new Map(), later: Array.from(parts, (endpointNos) => ({ ...task, endpointNos })) }
    }
    if (isCut && !how.inOrder) return await load(task, format, descending, { ...how, inOrder: true })
    const { now, later } = isCut ? cutAt(task, rangeOf(rows), descending) : { now: task, later: [] }
    if (!now) return { points: new Map(), later }
    const points = hotPoints(rows, format, now)
    return points ? { now, points, later } : await load(task, format, descending, { ...how, withWriting: true })
  }
}

const isMoment = ({ from, to }: Span) => from === to

/** The last time may have more samples than were read: it is left for later, and where there is nothing before it, for itself. */
function cutAt(task: Task, { from, to }: Span, descending: boolean): { now: Task | undefined; later: Task[] } {
  const at = descending ? from : to
  if (at === (descending ? task.to : task.from)) {
    const rest = descending ? { ...task, to: at - 1 } : { ...task, from: at + 1 }
    return { now: undefined, later: [{ ...task, from: at, to: at }, rest] }
  }
  if (descending) return { now: { ...task, from: at + 1 }, later: [{ ...task, to: at }] }
  return { now: { ...task, to: at - 1 }, later: [{ ...task, from: at }] }
}
