/**
 * How long points are kept: `retention` in the configuration of instance `epts` of an application, for example
 * `{"days": 30, "series": {"auto~x": 7}}`. Without it they stay. Days of UTC go as a whole, once all of a day is older. Only what came
 * late can be due before it is packed: then it is left out.
 */
import type { Clock } from '../../../kernel/clock.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import type { Gate } from '../../../kernel/gate.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Applications } from '../../applications/contract.ts'
import { timeSeriesInstance as instance, type RetentionConfiguration } from '../configuration.ts'
import type { WouldGo } from '../contract.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { dayMs, dayOf } from '../pack/chunk-builder.ts'
import { monthOf } from '../pack/months.ts'
import * as chunks from '../store/chunks.ts'
import { deleteLatestBefore } from '../store/latest.ts'
import { findEndpointsOf, findSeries, type Series } from '../store/numbers.ts'
import * as store from '../store/retention.ts'

/** Undefined: for ever. */
const daysOf = ({ days, series = {} }: RetentionConfiguration, name: string) =>
  Object.hasOwn(series, name) ? series[name] : days
/** The first day that stays. */
const firstDayOf = (days: number, now: Date) => dayOf(now.getTime() - days * dayMs)

interface Limit {
  days: number
  /** The first day that stays. */
  day: number
  series: Series[]
}

function limitsOf(retention: RetentionConfiguration, series: Series[], now: Date): Limit[] {
  const byDays = new Map<number, Series[]>()
  for (const one of series) {
    const days = daysOf(retention, one.name)
    if (days !== undefined) byDays.set(days, [...(byDays.get(days) ?? []), one])
  }
  return [...byDays].map(([days, own]) => ({ days, day: firstDayOf(days, now), series: own }))
}

const endpointsAtOnce = 500

export interface RetentionOptions {
  db: Db
  /** For previews, which somebody waits for. */
  reading: Db
  turns: Gate
  numbers: Numbers
  applications: Applications
  now: Clock
  log: Log
}

export function createRetention(options: RetentionOptions) {
  const { db, reading, turns, numbers, applications, now, log } = options
  /** What was done already: it changes once a day, or with the configuration. */
  const done = new Map<string, string>()

  async function configured(of: store.ApplicationRef) {
    const { config, problems } = await applications.configuration({ ...of, instance })
    return { retention: config.retention ?? {}, problems: problems.filter(({ path }) => path[0] === 'retention') }
  }

  async function* pagesOf(sql: Sql, of: store.ApplicationRef) {
    for (let after = ''; ; ) {
      const page = await findEndpointsOf(sql, { ...of, after, limit: endpointsAtOnce })
      if (page.length === 0) return
      yield page.map(({ endpointNo }) => endpointNo)
      after = page.at(-1)!.endpointId
    }
  }

  async function expire(of: store.ApplicationRef, limits: Limit[], all: boolean, check: () => void): Promise<boolean> {
    for await (const endpointNos of pagesOf(db.sql, of)) {
      check()
      const mine = await db.tx(async (sql) => {
        if (!(await chunks.tryPackingLock(sql))) return false
        for (const { day, series } of limits)
          await store.deleteExpired(sql, { endpointNos, seriesIds: series.map(({ seriesId }) => seriesId), day })
        if (all) await deleteLatestBefore(sql, endpointNos, Math.min(...limits.map(({ day }) => day)) * dayMs)
        return true
      })
      if (!mine) return false
    }
    return true
  }

  async function dropMonths(firstDay: number) {
    for (const name of await chunks.findMonths(db.sql)) {
      const month = monthOf(name)
      if (!month || month.to > firstDay) continue
      await db.tx(async (sql) => {
        if (await chunks.tryPackingLock(sql)) await chunks.dropMonth(sql, name)
      })
    }
  }

  /** Of those of them that are not packed yet. */
  async function addHot(endpointNos: number[], { day, series }: Limit, sums: Map<number, Sum>) {
    const own = new Set(series.map(({ seriesId }) => seriesId))
    const sets = await store.countHotExpired(reading.sql, endpointNos, day * dayMs)
    const seriesOf = await numbers.seriesIdsOf(sets.map(({ setId }) => setId))
    for (const { setId, samples } of sets)
      for (const seriesId of seriesOf.get(setId) ?? [])
        if (own.has(seriesId)) add(sums, seriesId, { points: samples, unpacked: samples, bytes: 0 })
  }

  return {
    /** Of a series with this name, the first moment that is kept. */
    async keptSince(of: store.ApplicationRef): Promise<KeptSince> {
      const { retention } = await configured(of)
      const at = now()
      return (name) => {
        const days = daysOf(retention, name)
        return days === undefined ? Number.NEGATIVE_INFINITY : firstDayOf(days, at) * dayMs
      }
    },

    /** By the number of a series, the first day that is kept of it; others are kept for ever. */
    async firstDays(): Promise<Map<number, number>> {
      const days = new Map<number, number>()
      for (const of of await store.findApplications(db.sql)) {
        const { retention } = await configured(of)
        if (retention.days === undefined && retention.series === undefined) continue
        for (const { day, series } of limitsOf(retention, await findSeries(db.sql, of), now()))
          for (const { seriesId } of series) days.set(seriesId, day)
      }
      return days
    },

    /** Something of days that were done came late: they are looked at again. */
    again: () => done.clear(),

    /** `check` throws when it is time to end. */
    async run(check: () => void) {
      /** The first day that anybody keeps. */
      let firstDay = Number.POSITIVE_INFINITY
      const due: (() => Promise<void>)[] = []
      for (const of of await store.findApplications(db.sql)) {
        const { retention, problems } = await configured(of)
        if (problems.length > 0) log.warn({ ...of, problems }, 'parts of the retention in epts are left out')
        const limits = limitsOf(retention, await findSeries(db.sql, of), now())
        const all = retention.days !== undefined
        for (const { day } of limits) firstDay = Math.min(firstDay, day)
        if (!all) firstDay = Number.NEGATIVE_INFINITY
        if (limits.length === 0) continue
        const key = `${of.tenantId}\n${of.applicationName}`
        const state = JSON.stringify(limits.map(({ day, series }) => [day, series.length]))
        if (done.get(key) === state) continue
        due.push(async () => {
          if (await expire(of, limits, all, check)) done.set(key, state)
        })
      }
      // What goes as a whole need not be deleted row by row.
      if (Number.isFinite(firstDay)) await dropMonths(firstDay)
      for (const work of due) await work()
    },

    /** What would be deleted now, with the retention that is configured or a proposed one. */
    async wouldGo(of: store.ApplicationRef, proposed?: RetentionConfiguration): Promise<WouldGo> {
      const { retention, problems } = proposed ? { retention: proposed, problems: [] } : await configured(of)
      const sums = new Map<number, Sum>()
      const limits = limitsOf(retention, await findSeries(reading.sql, of), now())
      for await (const endpointNos of limits.length > 0 ? pagesOf(reading.sql, of) : [])
        await turns.pass(of.tenantId, async () => {
          for (const limit of limits) {
            // Samples before chunks: what is packed in between is counted twice rather than not at all.
            await addHot(endpointNos, limit, sums)
            const seriesIds = limit.series.map(({ seriesId }) => seriesId)
            const packed = await store.sumExpired(reading.sql, { endpointNos, seriesIds, day: limit.day })
            for (const { seriesId, points, bytes } of packed) add(sums, seriesId, { points, unpacked: 0, bytes })
          }
        })
      const rows = limits.flatMap(({ days, day, series: own }) =>
        own.map(({ seriesId, name, valueName }) => ({
          name,
          valueName,
          days,
          before: new Date(day * dayMs),
          ...(sums.get(seriesId) ?? nothing),
        })),
      )
      return {
        series: rows.sort((a, b) => (a.name + a.valueName < b.name + b.valueName ? -1 : 1)),
        points: rows.reduce((sum, { points }) => sum + points, 0),
        bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
        problems: problems.map(({ path, problem }) => ({ place: path.join('.'), problem })),
      }
    },
  }
}
export type KeptSince = (seriesName: string) => number
export type RetentionRules = ReturnType<typeof createRetention>

interface Sum {
  points: number
  unpacked: number
  bytes: number
}

const nothing: Sum = { points: 0, unpacked: 0, bytes: 0 }

function add(sums: Map<number, Sum>, seriesId: number, { points, unpacked, bytes }: Sum) {
  const known = sums.get(seriesId) ?? nothing
  sums.set(seriesId, {
    points: known.points + points,
    unpacked: known.unpacked + unpacked,
    bytes: known.bytes + bytes,
  })
}
