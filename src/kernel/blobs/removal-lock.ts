/**
 * Prevents the removal of blob contents while a backup or a restore copies them. Rows can still be deleted; their contents are removed
 * later. Several removals can run at the same time, and so can several copies, but a removal and a copy cannot: each kind holds its own
 * lock in shared mode and checks the lock of the other kind.
 */
import type { Sql } from '../db.ts'

const lockSpace = 'kernel.blobs'
const [copying, removing] = [1, 2]

/** Returns false while a backup or restore copies contents. Call it in the transaction that removes contents. */
export async function mayRemove(sql: Sql): Promise<boolean> {
  // `pauseRemovals` requests this lock exclusively. The statement therefore returns false as soon as a backup or restore waits for the
  // lock.
  const [lock] =
    await sql`select pg_try_advisory_xact_lock_shared(hashtext(${lockSpace}), ${removing}::integer) as locked`
  if (!lock?.locked) return false
  const rows = await sql`
    select from pg_locks
    where locktype = 'advisory' and classid = hashtext(${lockSpace})::oid and objid = ${copying}::integer::oid and objsubid = 2
      and database = (select oid from pg_database where datname = current_database()) and granted limit 1`
  return rows.length === 0
}

/**
 * Prevents new removals until this transaction ends, and waits until running removals end. Read the rows that refer to contents after this
 * call: contents of rows that were read earlier may already be removed.
 */
export async function pauseRemovals(sql: Sql) {
  await sql`select pg_advisory_xact_lock_shared(hashtext(${lockSpace}), ${copying}::integer)`
  await sql`select pg_advisory_lock(hashtext(${lockSpace}), ${removing}::integer)`
  await sql`select pg_advisory_unlock(hashtext(${lockSpace}), ${removing}::integer)`
}
