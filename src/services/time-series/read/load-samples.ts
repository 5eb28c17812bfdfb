/** The samples of a task that are not packed yet, or, where they are too many, the smaller parts in which it can be read. */
import type { Db } from '../../../kernel/db.ts'
import * as store from '../store/reading.ts'
import type { Span } from '../times.ts'
import { countOf, type HotFormat, type HotPoints, hotPoints, rangeOf } from './sample-points.ts'
import { grouped, type Task } from './split-query.ts'

export interface Hot {
  /** What of the task was read; undefined: nothing. */
  now?: Task
  points: HotPoints
  later: Task[]
}

interface How {
  inOrder: boolean
  withWriting: boolean
  withLong: boolean
  /** Of samples, where less than usual has to do. */
  limit?: number
}

const plainly: How = { inOrder: false, withWriting: false, withLong: false }

/** Of what is read at once. */
export interface HotLimits {
  values: number
  textBytes: number
}

export function createHotLoading(db: Db, { values: valuesMax, textBytes: textBytesMax }: HotLimits) {
  const limitOf = ({ width }: HotFormat) => Math.max(1, Math.floor(valuesMax / width)) + 1

  function find(task: Task, format: HotFormat, descending: boolean, how: How) {
    const asked = { ...format, ...task }
    if (isMoment(task)) return store.findHotAt(db.sql, asked)
    const options = { limit: limitOf(format), ...how, descending }
    if (how.inOrder) return db.tx((sql) => store.findFirstHot(sql, asked, options))
    return store.findHot(db.sql, asked, options)
  }

  /** First as cheaply as it mostly can be done. */
  return async function load(task: Task, format: HotFormat, descending: boolean, how = plainly): Promise<Hot> {
    const none: Hot = { now: task, points: new Map(), later: [] }
    if (format.sets.length === 0) return none
    const rows = await find(task, format, descending, how)
    if (!rows) return none
    const again = (other: Partial<How>) => load(task, format, descending, { ...how, ...other })
    if (rows.longBytes > textBytesMax) {
      if (task.endpointNos.length > 1)
        return { points: new Map(), later: task.endpointNos.map((no) => ({ ...task, endpointNos: [no] })) }
      const limit = Math.max(2, Math.floor((countOf(rows) * textBytesMax) / rows.longBytes))
      return await again({ inOrder: true, limit })
    }
    if (rows.longBytes > 0) return await again({ withLong: true })
    const limit = how.limit ?? limitOf(format)
    const isCut = !isMoment(task) && countOf(rows) >= limit
    if (isCut && task.endpointNos.length > 1) {
      const counts = new Map((await store.countHot(db.sql, { ...format, ...task })).map((one) => [one.key, one.points]))
      const parts = grouped(task.endpointNos, (no) => counts.get(no) ?? 0, limit - 1)
      return { points: new Map(), later: Array.from(parts, (endpointNos) => ({ ...task, endpointNos })) }
    }
    if (isCut && !how.inOrder) return await again({ inOrder: true })
    const { now, later } = isCut ? cutAt(task, rangeOf(rows), descending) : { now: task, later: [] }
    if (!now) return { points: new Map(), later }
    const points = hotPoints(rows, format, now)
    return points ? { now, points, later } : await again({ withWriting: true })
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
