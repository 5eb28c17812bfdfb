/** SQL of revisions. Each change of the definitions of a tenant gets a new revision, which is stored with the ids that changed. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'

/** Increases the revision of a tenant and stores the ids that changed with it. */
export async function increaseRevision(sql: Sql, tenantId: string, ids: string[]): Promise<number> {
  const [row] = await sql<{ revision: number }[]>`
    with increased as (
      insert into rules.revisions as r (tenant_id, revision, changed_xid) values (${tenantId}, 1, pg_current_xact_id())
      on conflict (tenant_id) do update set revision = r.revision + 1, changed_xid = excluded.changed_xid
      returning revision),
    logged as (
      insert into rules.changes (tenant_id, revision, ids, changed_at)
      select ${tenantId}, revision, ${ids}::uuid[], statement_timestamp() from increased)
    select revision::double precision as revision from increased`
  return row!.revision
}

export async function findRevision(sql: Sql, tenantId: string): Promise<number> {
  const [row] = await sql<{ revision: number }[]>`
    select revision::double precision as revision from rules.revisions where tenant_id = ${tenantId}`
  return row?.revision ?? 0
}

export interface ChangedTenants {
  /** The value of `since` for the next call. */
  next: string
  tenantIds: string[]
}

/**
 * Returns an SQL expression for `ChangedTenants`: the tenants whose last change is by a transaction that had not begun, or may still have
 * been running, at the call that returned `since`. Without `since`, it lists no tenants.
 */
export const changedTenants = (sql: Sql, since: string | undefined): Fragment => sql`
  jsonb_build_object('next', pg_snapshot_xmin(pg_current_snapshot())::text, 'tenantIds',
    array(select tenant_id from rules.revisions where changed_xid >= ${since ?? null}::text::xid8))`

/**
 * Returns the ids that changed after revision `after`, up to `until`. Returns undefined if some of these revisions are no longer stored.
 */
export async function findChangedIds(
  sql: Sql,
  tenantId: string,
  { after, until }: { after: number; until: number },
): Promise<string[] | undefined> {
  // The revisions of a tenant start again from 1 if the tenant is deleted or the database is restored.
  if (until < after) return undefined
  const rows = await sql<{ ids: string[] }[]>`
    select ids from rules.changes where tenant_id = ${tenantId}
      and revision > ${String(after)}::text::bigint and revision <= ${String(until)}::text::bigint`
  return rows.length < until - after ? undefined : [...new Set(rows.flatMap(({ ids }) => ids))]
}

export async function deleteOldChanges(sql: Sql, seconds: number): Promise<void> {
  await sql`delete from rules.changes where changed_at < statement_timestamp() - ${seconds} * interval '1 second'`
}
