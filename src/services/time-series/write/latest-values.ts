/**
 * Keeps the newest value of each endpoint and series. A new value is in memory immediately, and is saved to the table `latest` about a
 * second later. After a crash, the table is completed from the samples (README.md).
 */
import type { Db } from '../../../kernel/db.ts'
import type { Log } from '../../../kernel/log.ts'
import type { Members } from '../../../kernel/members.ts'
import type { LatestValue } from '../contract.ts'
import { latestValuesUnsaved, latestValuesUnsavedAtStop } from '../log-messages.ts'
import type { Numbers } from '../numbers/numbers.ts'
import * as store from '../store/latest.ts'
import { completeLatest, deleteMark, findMarks } from '../store/latest-marks.ts'
import type { LatestMark } from './latest-mark.ts'
import { type Rows, storedForm, valuesOf } from './rows.ts'
import { addAll, addRows, type NewestSample, takeOldest, type UnsavedLatest } from './unsaved-latest.ts'

export interface LatestValues {
  /** Called with rows that this node has just committed. */
  stored(rows: Rows): void
  read(endpointNos: number[]): Promise<Map<number, LatestValue[]>>
  /** Drops the values of endpoints that lost their numbers. */
  drop(endpointNos: number[]): void
  dropAll(): void
  /** Saves some of the unsaved values, or all of them if `all` is true. */
  flush(all?: boolean): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

export interface LatestOptions {
  /** Not the common pool of the node, because long texts would delay other statements. */
  db: Db
  reading: Db
  numbers: Numbers
  members: Pick<Members, 'isAlone' | 'declareOwnedRows'>
  mark: LatestMark
  log: Log
  writes: {
    /** Returns a number in the order of writes up to which everything that this node wrote is stored. */
    storedUpTo(): Promise<number>
    isIdle(): boolean
  }
}

const everyMs = 1000
const rowsAtLeast = 4000
/** If there are many endpoints, the table lags behind by at most this time. */
const secondsBehind = 30
/** The mark is removed after this many consecutive flushes without unsaved values. */
const cleanFlushes = 2

export function createLatestValues(options: LatestOptions): LatestValues {
  const { db, mark, log } = options
  let unsaved: UnsavedLatest = new Map()
  let saving: UnsavedLatest = new Map()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let clean = 0

  async function save(all: boolean) {
    const count = all ? unsaved.size : Math.max(rowsAtLeast, Math.ceil(unsaved.size / secondsBehind))
    if (count >= unsaved.size) [saving, unsaved] = [unsaved, new Map()]
    else saving = takeOldest(unsaved, count)
    try {
      for (const rows of slices(rowsOf(saving), rowsAtLeast)) await db.tx((sql) => store.saveLatest(sql, rows))
      saving = new Map()
    } catch (error) {
      const failed = saving
      saving = new Map()
      addAll(unsaved, failed)
      throw error
    }
    if (mark.isSet()) await moveMark()
  }

  async function moveMark() {
    let upTo = await options.writes.storedUpTo()
    for (const { since } of unsaved.values()) upTo = Math.min(upTo, since - 1)
    clean = unsaved.size === 0 && options.writes.isIdle() ? clean + 1 : 0
    if (clean < cleanFlushes) return await mark.save(upTo)
    clean = 0
    await mark.remove()
  }

  async function flush(all = false) {
    while (running) await running.catch(() => {})
    running = save(all).finally(() => {
      running = undefined
    })
    await running
  }

  function tick() {
    if (running || (!mark.isSet() && unsaved.size === 0)) return
    flush().catch((error) => latestValuesUnsaved(log, { err: error }))
  }

  options.members.declareOwnedRows({
    name: 'time-series.latest-marks',
    owners: async (sql) => (await findMarks(sql)).map(({ node }) => node),
    sweep: (nodeId) => completeAfter(db, nodeId),
  })
  return {
    stored: (rows) => addRows(unsaved, rows),
    read: (endpointNos) => findLatestOf(options, [saving, unsaved], endpointNos),
    drop(endpointNos) {
      for (const endpointNo of endpointNos) unsaved.delete(endpointNo)
    },
    dropAll: () => unsaved.clear(),
    flush,
    async start() {
      // Nodes that crashed may count as alive for some seconds. Their values may then be added now and once more later, with the same
      // result.
      const marks = await findMarks(options.reading.sql)
      if (marks.length > 0) await db.tx((sql) => completeLatest(sql, Math.min(...marks.map(({ written }) => written))))
      timer = setInterval(tick, everyMs).unref()
    },
    async stop() {
      clearInterval(timer)
      if (!mark.isSet()) return
      try {
        await flush(true)
        await mark.remove()
      } catch (error) {
        latestValuesUnsavedAtStop(log, { err: error })
      }
    },
  }
}

/** Completes the table with the values that a dead node had not saved. */
async function completeAfter(db: Db, nodeId: string) {
  await db.tx(async (sql) => {
    for (const { node, written } of await findMarks(sql)) {
      if (node !== nodeId) continue
      await completeLatest(sql, written)
      await deleteMark(sql, node, written)
    }
  })
}

type OfEndpoint = NewestSample & { endpointNo: number }

/** Combines the table with the values in memory. If other nodes may have unsaved values, newer samples are read too. */
async function findLatestOf(
  { db, reading, numbers, members }: LatestOptions,
  memory: UnsavedLatest[],
  endpointNos: number[],
): Promise<Map<number, LatestValue[]>> {
  if (endpointNos.length === 0) return new Map()
  const newest = (await store.findLatest(reading.sql, endpointNos)).map(newestOfRow)
  for (const endpointNo of endpointNos)
    for (const unsavedMap of memory)
      for (const one of unsavedMap.get(endpointNo)?.newest ?? []) newest.push({ ...one, endpointNo })
  if (!members.isAlone()) {
    const from = new Map(endpointNos.map((endpointNo) => [endpointNo, Number.MIN_SAFE_INTEGER]))
    for (const { endpointNo, ts } of newest) from.set(endpointNo, Math.max(from.get(endpointNo)!, ts))
    for (const row of await db.tx((sql) => store.findNewerSamples(sql, from))) newest.push(newestOfRow(row))
  }
  const seriesOf = await numbers.seriesIdsOf(newest.map(({ setId }) => setId))
  const byEndpoint = Map.groupBy(newest, ({ endpointNo }) => endpointNo)
  return new Map([...byEndpoint].map(([endpointNo, own]) => [endpointNo, newestValues(own, seriesOf)]))
}

const newestOfRow = ({ v, x, ...row }: store.LatestRow): OfEndpoint => ({ ...row, values: valuesOf(v, x) })

const rowsOf = (some: UnsavedLatest): store.LatestRow[] =>
  [...some].flatMap(([endpointNo, { newest }]) =>
    newest.map(({ values, ...one }) => ({ endpointNo, ...one, ...storedForm(values) })),
  )

function* slices<T>(all: T[], size: number) {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size)
}

function newestValues(newest: NewestSample[], seriesOf: Map<number, number[]>): LatestValue[] {
  const [only] = newest
  // Usually there is one sample, because most endpoints always send the same fields.
  if (newest.length === 1)
    return (seriesOf.get(only!.setId) ?? []).map((seriesId, index) => ({
      seriesId,
      timestamp: only!.ts,
      value: only!.values[index]!,
    }))
  const best = new Map<number, LatestValue & { written: number }>()
  for (const { setId, ts, written, values } of newest)
    for (const [index, seriesId] of (seriesOf.get(setId) ?? []).entries()) {
      const current = best.get(seriesId)
      if (current && (current.timestamp > ts || (current.timestamp === ts && current.written >= written))) continue
      best.set(seriesId, { seriesId, timestamp: ts, written, value: values[index]! })
    }
  return Array.from(best.values(), ({ written, ...value }) => value)
}
