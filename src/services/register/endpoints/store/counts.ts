import type { Fragment, Sql } from '../../../../kernel/db.ts'

export interface CountSelection {
  tenantId: string
  applicationNames?: string[] | undefined
  versionNames?: string[] | undefined
}

/** Sums the counts and the differences that are not yet moved into the counts, with the same conditions on both tables. */
const sumOfCounts = (sql: Sql, where: Fragment) => sql`
  select application_name, version_name, metadata_key, sum(n) as n from (
    select application_name, version_name, metadata_key, count as n from register.counts where ${where}
    union all
    select application_name, version_name, metadata_key, difference from register.count_differences where ${where}
  ) both_tables group by application_name, version_name, metadata_key`

/** Returns an SQL expression for the exact number of endpoints. It reads the counts, not the endpoints. */
export function endpointCountSql(sql: Sql, selection: CountSelection): Fragment {
  const where = sql`tenant_id = ${selection.tenantId} and metadata_key = ''
    ${selection.applicationNames ? sql`and application_name = any(${selection.applicationNames}::text[])` : sql``}
    ${selection.versionNames ? sql`and version_name = any(${selection.versionNames}::text[])` : sql``}`
  return sql`((select coalesce(sum(count), 0)::bigint from register.counts where ${where})
    + (select coalesce(sum(difference), 0)::bigint from register.count_differences where ${where}))`
}

export async function countEndpoints(sql: Sql, selection: CountSelection): Promise<number> {
  const [row] = await sql`select ${endpointCountSql(sql, selection)} as n`
  return row?.n
}

/**
 * Finds the metadata keys that at least one endpoint of a version has. A version with endpoints also has a row with the empty key, which
 * counts the endpoints.
 */
export async function findKeys(
  sql: Sql,
  application: { tenantId: string; applicationName: string },
): Promise<{ versionName: string; metadataKey: string }[]> {
  const where = sql`tenant_id = ${application.tenantId} and application_name = ${application.applicationName}`
  return await sql<{ versionName: string; metadataKey: string }[]>`
    select version_name, metadata_key from (${sumOfCounts(sql, where)}) counted where n > 0
    order by version_name, metadata_key`
}

/** Moves the differences into the counts with one statement, so that readers count each difference exactly once. */
export async function foldCounts(sql: Sql) {
  await sql`
    with moved as (delete from register.count_differences returning *),
    summed as (
      select tenant_id, metadata_key, application_name, version_name, sum(difference) as difference
      from moved group by tenant_id, metadata_key, application_name, version_name having sum(difference) <> 0)
    insert into register.counts as known (tenant_id, metadata_key, application_name, version_name, count)
    select tenant_id, metadata_key, application_name, version_name, difference from summed
    on conflict (tenant_id, metadata_key, application_name, version_name)
      do update set count = known.count + excluded.count`
  await sql`delete from register.counts where count = 0`
}
