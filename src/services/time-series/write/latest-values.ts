/**
 * The newest value of each series of each endpoint. What this process writes it knows at once; the table follows about once a
 * second, with so many rows at a time that it costs a few hundredths of a core. A mark says up to where the table holds what
 * this process wrote: after a crash the rest is found in the samples.
 */

import type { Clock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import type { Log } from '../../../kernel/log.ts'
import type { LatestValue } from '../contract.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { Value } from '../points.ts'
import * as store from '../store/latest.ts'
import { othersOf, type Rows, valuesOf } from './rows.ts'

export interface Latest {
  stored(rows: Rows): void
  of(endpointNos: number[]): Promise<Map<number, LatestValue[]>>
  /** Their numbers are nobody's any more. */
  forget(endpointNos: number[]): void
  forgetAll(): void
  /** What others left when they crashed. */
  complete(): Promise<void>
  /** To the table: some of it, or everything. */
  flush(all?: boolean): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

interface Newest {
  setId: number
  ts: number
  written: number
  values: Value[]
}

interface OfEndpoint {
  /** The oldest of its samples that the table may lack. */
  since: number
  newest: Newest[]
}

const everyMs = 1000
const rowsAtLeast = 4000
/** More than that, and the table is at most about so many seconds behind. */
const secondsBehind = 30
const markEveryMs = 20_000
/** Who has not been seen for so long is no more. */
const goneMs = 90_000

export function createLatest(options: {
  /** Connections that nobody uses but for transactions: the texts are long, and others would have to wait behind them. */
  db: Db
  /** For questions. */
  reading: Db
  numbers: Numbers
  node: string
  now: Clock
  log: Log
  /** The place in the order of writes up to which everything that this process wrote is stored. */
  storedUpTo(): Promise<number>
}): Latest {
  const { db, reading, numbers, node, now, log } = options
  let dirty = new Map<number, OfEndpoint>()
  let flushing = new Map<number, OfEndpoint>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let markedAt = 0
  let wrote = false

  function note(endpointNo: number, setId: number, ts: number, written: number, values: Value[]) {
    let own = dirty.get(endpointNo)
    if (!own) {
      own = { since: written, newest: [] }
      dirty.set(endpointNo, own)
    }
    if (written < own.since) own.since = written
    for (const newest of own.newest)
      if (newest.setId === setId) {
        if (ts > newest.ts || (ts === newest.ts && written > newest.written)) {
          newest.ts = ts
          newest.written = written
          newest.values = values
        }
        return
      }
    own.newest.push({ setId, ts, written, values })
  }

  /** The place in the order of writes up to which the table holds what this process wrote. */
  async function mark(): Promise<number> {
    let upTo = await options.storedUpTo()
    for (const some of [dirty, flushing]) for (const { since } of some.values()) upTo = Math.min(upTo, since - 1)
    return upTo
  }

  function take(all: boolean): Map<number, OfEndpoint> {
    const count = all ? dirty.size : Math.max(rowsAtLeast, Math.ceil(dirty.size / secondsBehind))
    if (count >= dirty.size) {
      const taken = dirty
      dirty = new Map()
      return taken
    }
    // The order of a Map is that of insertion: those that have waited longest.
    const taken = new Map<number, OfEndpoint>()
    for (const [endpointNo, own] of dirty) {
      if (taken.size >= count) break
      taken.set(endpointNo, own)
      dirty.delete(endpointNo)
    }
    return taken
  }

  async function write(all: boolean) {
    flushing = take(all)
    try {
      for (const rows of slices(rowsOf(flushing), rowsAtLeast)) await db.tx((sql) => store.saveLatest(sql, rows))
      const known = flushing.size > 0
      flushing = new Map()
      const at = now()
      if (wrote && (known || at.getTime() - markedAt > markEveryMs)) {
        const written = await mark()
        await db.tx((sql) => store.saveMark(sql, node, written, at))
        markedAt = at.getTime()
      }
    } catch (error) {
      const failed = flushing
      flushing = new Map()
      for (const [endpointNo, { newest, since }] of failed) {
        for (const one of newest) note(endpointNo, one.setId, one.ts, one.written, one.values)
        const own = dirty.get(endpointNo)!
        own.since = Math.min(own.since, since)
      }
      throw error
    }
  }

  async function flush(all = false) {
    while (running) await running.catch(() => {})
    running = write(all).finally(() => {
      running = undefined
    })
    await running
  }

  async function complete() {
    const marks = await store.findMarks(reading.sql)
    if (marks.length === 0) return
    const gone = marks.filter((mark) => mark.node !== node && mark.seenDate.getTime() < now().getTime() - goneMs)
    const others = marks.filter((mark) => mark.node !== node)
    // At the start nobody knows yet who is no more; taking up what is there already changes nothing.
    const from = (wrote ? gone : others).map(({ written }) => written)
    if (from.length === 0) return
    await db.tx(async (sql) => {
      await store.completeLatest(sql, Math.min(...from))
      for (const mark of gone) await store.deleteMark(sql, mark.node)
    })
  }

  function tick() {
    if (running || (!wrote && dirty.size === 0)) return
    flush().catch((error) => log.warn({ err: error }, 'the latest values could not be written; trying again'))
  }

  return {
    stored(rows) {
      wrote = true
      const { endpointNos, sets, times, writtens, values } = rows
      for (let row = 0; row < times.length; row++)
        note(endpointNos[row]!, sets[row]!.setId, times[row]!, writtens[row]!, values[row]!)
    },
    async of(endpointNos) {
      const found = await store.findLatest(reading.sql, endpointNos)
      const newest: (Newest & { endpointNo: number })[] = found.map(({ v, x, ...row }) => ({
        ...row,
        values: valuesOf(v, x),
      }))
      for (const endpointNo of endpointNos)
        for (const some of [flushing, dirty])
          for (const one of some.get(endpointNo)?.newest ?? []) newest.push({ ...one, endpointNo })
      return await bySeries(newest, numbers)
    },
    forget(endpointNos) {
      for (const endpointNo of endpointNos) dirty.delete(endpointNo)
    },
    forgetAll: () => dirty.clear(),
    complete,
    flush,
    async start() {
      await complete()
      timer = setInterval(tick, everyMs).unref()
    },
    async stop() {
      clearInterval(timer)
      if (!wrote) return
      try {
        await flush(true)
        await db.tx((sql) => store.deleteMark(sql, node))
      } catch (error) {
        log.warn({ err: error }, 'the latest values could not be written; the next start completes them')
      }
    },
  }
}

const rowsOf = (some: Map<number, OfEndpoint>): store.LatestRow[] =>
  [...some].flatMap(([endpointNo, { newest }]) =>
    newest.map(({ values, ...one }) => ({ endpointNo, ...one, ...storedForm(values) })),
  )

/** As the columns `v` and `x` have it. */
export function storedForm(values: Value[]): { v: number[]; x: string | null } {
  if (values.every((value) => typeof value === 'number')) return { v: values as number[], x: null }
  return { v: values.map((value) => (typeof value === 'number' ? value : Number.NaN)), x: othersOf(values) }
}

function* slices<T>(all: T[], size: number) {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size)
}

async function bySeries(newest: (Newest & { endpointNo: number })[], numbers: Numbers) {
  const seriesOf = await numbers.seriesIdsOf(newest.map(({ setId }) => setId))
  const byEndpoint = Map.groupBy(newest, ({ endpointNo }) => endpointNo)
  const values = new Map<number, LatestValue[]>()
  for (const [endpointNo, own] of byEndpoint) values.set(endpointNo, valuesOfAll(own, seriesOf))
  return values
}

function valuesOfAll(newest: Newest[], seriesOf: Map<number, number[]>): LatestValue[] {
  const [only] = newest
  // Most endpoints send the same fields again and again.
  if (newest.length === 1)
    return (seriesOf.get(only!.setId) ?? []).map((seriesId, place) => ({
      seriesId,
      timestamp: only!.ts,
      value: only!.values[place]!,
    }))
  const best = new Map<number, LatestValue & { written: number }>()
  for (const { setId, ts, written, values } of newest)
    for (const [place, seriesId] of (seriesOf.get(setId) ?? []).entries()) {
      const known = best.get(seriesId)
      if (known && (known.timestamp > ts || (known.timestamp === ts && known.written >= written))) continue
      best.set(seriesId, { seriesId, timestamp: ts, written, value: values[place]! })
    }
  return Array.from(best.values(), ({ written, ...value }) => value)
}
