/** Hot rows. */
import { copyIn } from '../../../kernel/copy-in.ts'
import { type Db, isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import { columns, type Rows } from '../write/rows.ts'
import { partitionOf } from './slots.ts'

/** Of `hold_slot`. */
const notOpen = 'WP001'

/** Nothing was written: the slot is not open any more. */
export const isSlotClosed = (error: unknown) => (error as { code?: string } | null)?.code === notOpen

/** Nothing was written: a stamped sample has the time of another one of its endpoint. */
export const isTimeTaken = (error: unknown) => isUniqueViolation(error)

const hold = (slot: number) => `select time_series.hold_slot(${slot})`
const copy = (slot: number) => `copy ${partitionOf(slot)} (${columns.join(', ')}) from stdin (format binary)`

/** All of them into the slot, as long as it is open, durable when it returns. */
export const copySamples = (db: Db, slot: number, rows: Rows) =>
  db.copyIn(`${hold(slot)}; ${copy(slot)}`, () => rows.encode(slot))

/** In a transaction: fails with `isSlotClosed`, or the slot stays open until the commit. */
export async function holdOpenSlot(sql: Sql, slot: number) {
  await sql.unsafe(hold(slot))
}

/** In a transaction that holds the slot. `isCopy`: they are in an older slot already. */
export async function copyRows(sql: Sql, slot: number, rows: Rows, isCopy: boolean) {
  await copyIn(sql.unsafe(copy(slot)), () => rows.encode(slot, isCopy))
}

export interface StampedTime {
  endpointNo: number
  ts: number
  written: number
}

/** Those of the given times that stored stamped samples have. */
export async function findStampedAt(sql: Sql, given: { endpointNo: number; time: number }[]): Promise<StampedTime[]> {
  const endpointNos = given.map(({ endpointNo }) => endpointNo)
  const times = given.map(({ time }) => time)
  return await sql`
    select s.endpoint_no, s.ts, s.written from time_series.samples s
    join unnest(${endpointNos}::bigint[], ${times}::bigint[]) as given (endpoint_no, ts)
      on s.endpoint_no = given.endpoint_no and s.ts = given.ts
    where s.endpoint_no = any(${endpointNos}::bigint[]) and s.stamped`
}

/** The last time of stored stamped samples of each endpoint, where it is not before the given one. */
export async function findLastStamped(sql: Sql, from: Map<number, number>): Promise<Map<number, number>> {
  const endpointNos = [...from.keys()]
  const rows = await sql<{ endpointNo: number; ts: number }[]>`
    select s.endpoint_no, max(s.ts) as ts from time_series.samples s
    join unnest(${endpointNos}::bigint[], ${[...from.values()]}::bigint[]) as given (endpoint_no, ts)
      on s.endpoint_no = given.endpoint_no and s.ts >= given.ts
    where s.endpoint_no = any(${endpointNos}::bigint[]) and s.stamped
    group by s.endpoint_no`
  return new Map(rows.map(({ endpointNo, ts }) => [endpointNo, ts]))
}

export interface WrittenSample {
  endpointNo: number
  ts: number
  setId: number
  written: number
  v: number[]
  x: string | null
}

/** In the order of their writing. */
export async function findSamplesSince(
  sql: Sql,
  endpointNos: number[],
  written: number,
  limit: number,
): Promise<WrittenSample[]> {
  if (endpointNos.length === 0) return []
  return await sql`
    select endpoint_no, ts, set_id, written, v, x from time_series.samples
    where endpoint_no = any(${endpointNos}::bigint[]) and written > ${written}
    order by written limit ${limit}`
}
