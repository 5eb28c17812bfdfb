/**
 * SQL of slots, which are the partitions of samples by arrival. Writers hold a shared lock on a slot until their commit. Closing a slot
 * takes the lock exclusively.
 */
import type { Sql } from '../../../kernel/db.ts'

export type SlotState = 'ready' | 'open' | 'closed' | 'packed'

export interface Slot {
  slot: number
  state: SlotState
  openedDate: Date | null
  /** A number in the order of writes: all rows in older slots have smaller numbers, and all rows in newer slots have greater numbers. */
  openedWritten: number | null
}

export const partitionOf = (slot: number) => `time_series.samples_${slot}`

export async function findSlots(sql: Sql): Promise<Slot[]> {
  return await sql`select slot, state, opened_date, opened_written from time_series.slots order by slot`
}

export async function findOpenSlot(sql: Sql): Promise<number | undefined> {
  const [row] = await sql`select slot from time_series.slots where state = 'open'`
  return row?.slot
}

/** Closes a slot. Waits until all writers have committed or failed; from then on, no node can write into the slot. */
export async function closeSlot(sql: Sql, slot: number) {
  await sql`select pg_advisory_xact_lock(hashtext('time-series.slot'), ${slot}::integer)`
  await sql`update time_series.slots set state = 'closed' where slot = ${slot} and state = 'open'`
}

export async function lockSlots(sql: Sql) {
  await sql`select pg_advisory_xact_lock(hashtextextended('time-series.slots', 0))`
}

/** Creates a table and then attaches it as a partition, so that readers and writers do not wait. */
export async function createSlot(sql: Sql): Promise<number> {
  const [row] = await sql`insert into time_series.slots (state) values ('ready') returning slot`
  const slot = row!.slot as number
  const name = partitionOf(slot)
  // Rows are only added, and the table is dropped within hours, so there is nothing to vacuum.
  await sql.unsafe(
    `create table ${name} (like time_series.samples including all) with (autovacuum_vacuum_insert_threshold = -1)`,
  )
  // Statistics of the values improve no plan, and collecting them keeps a core busy for a quarter of a second.
  await sql.unsafe(
    `alter table ${name} alter record set statistics 0, alter x set statistics 0, alter written set statistics 0,
      alter slot set statistics 0, alter stamped set statistics 0, alter set_id set statistics 10, alter endpoint_no set statistics 10, alter ts set statistics 10`,
  )
  await sql.unsafe(`alter table time_series.samples attach partition ${name} for values in (${slot})`)
  return slot
}

export async function openSlot(sql: Sql, slot: number, at: Date) {
  await sql`update time_series.slots set state = 'open', opened_date = ${at} where slot = ${slot}`
}

/** Saves `openedWritten`, unless it is already saved. The number must have been requested after the slot was opened. */
export async function saveOpening(sql: Sql, slot: number, written: number) {
  await sql`update time_series.slots set opened_written = ${written} where slot = ${slot} and opened_written is null`
}

/** Locks a closed slot. Returns false if it is not closed, or if another node packs it. */
export async function lockClosedSlot(sql: Sql, slot: number): Promise<boolean> {
  const rows = await sql`
    select slot from time_series.slots where slot = ${slot} and state = 'closed' for update skip locked`
  return rows.length === 1
}

export async function markPacked(sql: Sql, slot: number) {
  await sql`update time_series.slots set state = 'packed' where slot = ${slot}`
}

/** Drops a packed slot, unless another node drops it. Fails with 55P03 if a long read would make other statements wait. */
export async function dropSlot(sql: Sql, slot: number) {
  await limitLockWait(sql, 300)
  // Without this lock, PostgreSQL fails with an internal error (XX000) if another node drops the partition at the same moment.
  const rows = await sql`select slot from time_series.slots where slot = ${slot} for update skip locked`
  if (rows.length === 0) return
  await sql.unsafe(`drop table if exists ${partitionOf(slot)}`)
  await sql`delete from time_series.slots where slot = ${slot}`
}

export async function limitLockWait(sql: Sql, ms: number) {
  await sql`select set_config('lock_timeout', ${String(ms)}, true)`
}

/** Estimates the number of rows from the size of the table and the last analysis. */
export async function estimateRows(sql: Sql, slot: number): Promise<number> {
  const [row] = await sql`
    select pg_relation_size(oid)::float8 as bytes, reltuples::float8 as rows, relpages as pages
    from pg_class where oid = to_regclass(${partitionOf(slot)})`
  if (!row) return 0
  const rowBytes = row.rows > 0 && row.pages > 0 ? (row.pages * 8192) / row.rows : 120
  return row.bytes / rowBytes
}

export async function hasRows(sql: Sql, slot: number): Promise<boolean> {
  const [row] = await sql`select exists (select from time_series.samples where slot = ${slot}) as yes`
  return row!.yes
}

export async function countEndpoints(sql: Sql): Promise<number> {
  const [row] = await sql`select count(*)::float8 as count from time_series.endpoints`
  return row!.count
}
