/** SQL of samples that are not packed yet. */
import { copyIn } from '../../../kernel/copy-in.ts'
import { type Db, isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import { returnBuffer } from '../../../kernel/spare-buffers.ts'
import { valuesInRecord } from '../record.ts'
import { columns, type Rows } from '../write/rows.ts'
import { partitionOf } from './slots.ts'

/** SQLSTATE that `hold_slot` raises for a closed slot. */
const slotClosedState = 'WP001'

/** Returns true if nothing was written because the slot is closed. */
export const isSlotClosed = (error: unknown) => (error as { code?: string } | null)?.code === slotClosedState

/** Returns true if nothing was written because a stamped sample (one without a timestamp, see README.md) already has the same time. */
export const isTimeTaken = (error: unknown) => isUniqueViolation(error)

const holdSql = (slot: number) => `select time_series.hold_slot(${slot})`
const copySql = (slot: number) => `copy ${partitionOf(slot)} (${columns.join(', ')}) from stdin (format binary)`

/** Writes all rows into the slot if it is open. The rows are durable when the promise resolves. */
export async function copySamples(db: Db, slot: number, rows: Rows) {
  let encoded: Buffer | undefined
  await db.copyIn(`${holdSql(slot)}; ${copySql(slot)}`, () => {
    encoded = rows.encode(slot)
    return encoded
  })
  // After an error, the buffer may still be on its way to the socket, so it is not reused.
  if (encoded) returnBuffer(encoded)
}

/** Keeps the slot open until the commit. Must be called in a transaction. If the slot is closed, fails with an error for `isSlotClosed`. */
export async function holdOpenSlot(sql: Sql, slot: number) {
  await sql.unsafe(holdSql(slot))
}

/** Writes rows in a transaction that holds the slot. `isCopy` means that the rows are also in an older slot. */
export async function copyRows(sql: Sql, slot: number, rows: Rows, isCopy: boolean) {
  await copyIn(sql.unsafe(copySql(slot)), () => rows.encode(slot, isCopy))
}

/** Does the work of `holdOpenSlot` and `copyRows` in one round trip. */
export async function holdAndCopyRows(sql: Sql, slot: number, rows: Rows) {
  sql`select time_series.hold_slot(${slot})`.execute()
  await copyRows(sql, slot, rows, false)
}

export interface StampedTime {
  endpointNo: number
  ts: number
  written: number
}

/** Finds stored stamped samples with these times. */
export async function findStampedAt(sql: Sql, stamped: { endpointNo: number; time: number }[]): Promise<StampedTime[]> {
  const endpointNos = stamped.map(({ endpointNo }) => endpointNo)
  const times = stamped.map(({ time }) => time)
  return await sql`
    select s.endpoint_no, s.ts, s.written from time_series.samples s
    join unnest(${endpointNos}::bigint[], ${times}::bigint[]) as given (endpoint_no, ts)
      on s.endpoint_no = given.endpoint_no and s.ts = given.ts
    where s.endpoint_no = any(${endpointNos}::bigint[]) and s.stamped`
}

/** Finds the last time of the stored stamped samples of each endpoint, since the given time. */
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

export type RecordRow = Omit<WrittenSample, 'v'> & { record: Buffer }

/** Replaces the record of a sample with its numbers. */
export const withValues = ({ record, ...row }: RecordRow): WrittenSample => ({ ...row, v: valuesInRecord(record) })

/** Finds the samples that were written after the sample with this number, in the order of writes. */
export async function findSamplesSince(
  sql: Sql,
  endpointNos: number[],
  written: number,
  limit: number,
): Promise<WrittenSample[]> {
  if (endpointNos.length === 0) return []
  const rows = await sql<RecordRow[]>`
    select endpoint_no, ts, set_id, written, record, x from time_series.samples
    where endpoint_no = any(${endpointNos}::bigint[]) and written > ${written}
    order by written limit ${limit}`
  return rows.map(withValues)
}
