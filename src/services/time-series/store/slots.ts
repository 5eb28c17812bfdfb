/** Slots: partitions by arrival. Who writes into one holds it shared until the commit; who closes it holds it alone. */
import type { Sql } from '../../../kernel/db.ts'

export type SlotState = 'ready' | 'open' | 'closed' | 'packed'

export interface Slot {
  slot: number
  state: SlotState
  openedDate: Date | null
  /** A place in the order of writes: everything before it is in this slot or an older one, everything in older ones before it. */
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

/** Everybody who wrote into it has committed or failed, and nobody can any more. */
export async function closeSlot(sql: Sql, slot: number) {
  await sql`select pg_advisory_xact_lock(hashtext('time-series.slot'), ${slot}::integer)`
  await sql`update time_series.slots set state = 'closed' where slot = ${slot} and state = 'open'`
}

export async function lockSlots(sql: Sql) {
  await sql`select pg_advisory_xact_lock(hashtextextended('time-series.slots', 0))`
}

/** Made apart and then attached: nobody who reads or writes has to wait. */
export async function makeSlot(sql: Sql): Promise<number> {
  const [row] = await sql`insert into time_series.slots (state) values ('ready') returning slot`
  const slot = row!.slot as number
  const name = partitionOf(slot)
  // Rows are only added, and the table is dropped in a few hours: vacuum has nothing to do there.
  await sql.unsafe(
    `create table ${name} (like time_series.samples including all) with (autovacuum_vacuum_insert_threshold = -1)`,
  )
  // What a value is like helps no plan, and to find it out takes a quarter of a second of a core: devices would feel it.
  await sql.unsafe(
    `alter table ${name} alter v set statistics 0, alter x set statistics 0, alter written set statistics 0,
      alter slot set statistics 0, alter stamped set statistics 0, alter set_id set statistics 10, alter endpoint_no set statistics 10, alter ts set statistics 10`,
  )
  await sql.unsafe(`alter table time_series.samples attach partition ${name} for values in (${slot})`)
  return slot
}

export async function openSlot(sql: Sql, slot: number, at: Date) {
  await sql`update time_series.slots set state = 'open', opened_date = ${at} where slot = ${slot}`
}

/** Of a slot that was opened before this place in the order of writes was asked for. */
export async function placeOpening(sql: Sql, slot: number, written: number) {
  await sql`update time_series.slots set opened_written = ${written} where slot = ${slot} and opened_written is null`
}

/** False when it is not there to be packed, or somebody else packs it. */
export async function takeClosedSlot(sql: Sql, slot: number): Promise<boolean> {
  const rows = await sql`
    select slot from time_series.slots where slot = ${slot} and state = 'closed' for update skip locked`
  return rows.length === 1
}

export async function markPacked(sql: Sql, slot: number) {
  await sql`update time_series.slots set state = 'packed' where slot = ${slot}`
}

/** Fails with 55P03 when somebody reads for so long that others would have to wait. */
export async function dropSlot(sql: Sql, slot: number) {
  await limitLockWait(sql, 300)
  await sql.unsafe(`drop table if exists ${partitionOf(slot)}`)
  await sql`delete from time_series.slots where slot = ${slot}`
}

export async function limitLockWait(sql: Sql, ms: number) {
  await sql`select set_config('lock_timeout', ${String(ms)}, true)`
}

/** About how many: what a row takes is taken from what the last analysis found, or guessed. */
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
