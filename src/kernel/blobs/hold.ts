/**
 * While a backup or a restore copies contents, none is removed: a row that it has seen keeps its content, however long the
 * copying takes. Deletions go on; only their contents stay a while longer. Whoever removes says so by one lock, whoever copies by
 * another, so that neither several removers nor several backups wait for each other.
 */
import type { Sql } from '../db.ts'

const place = 'kernel.blobs'
const [copying, removing] = [1, 2]

/** Within the transaction that removes contents, when it has found which: false while somebody copies. */
export async function mayRemove(sql: Sql): Promise<boolean> {
  // Refused when somebody waits for us to finish, to copy then.
  const [lock] = await sql`select pg_try_advisory_xact_lock_shared(hashtext(${place}), ${removing}::integer) as mine`
  if (!lock?.mine) return false
  const rows = await sql`
    select from pg_locks
    where locktype = 'advisory' and classid = hashtext(${place})::oid and objid = ${copying}::integer::oid and objsubid = 2
      and database = (select oid from pg_database where datname = current_database()) and granted limit 1`
  return rows.length === 0
}

/** Until this transaction ends. Whoever was removing then has finished; snapshots of rows are taken after it. */
export async function holdRemovals(sql: Sql) {
  await sql`select pg_advisory_xact_lock_shared(hashtext(${place}), ${copying}::integer)`
  await sql`select pg_advisory_lock(hashtext(${place}), ${removing}::integer)`
  await sql`select pg_advisory_unlock(hashtext(${place}), ${removing}::integer)`
}
