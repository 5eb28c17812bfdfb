/** Deletes the data of deleted endpoints, versions, applications and tenants. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { ApplicationKey } from './versions.ts'

/**
 * Deletes rows of endpoints that were unregistered at `until`. If an endpoint was registered again, its rows after `until` stay. If it was
 * not, all its rows are deleted: a node whose clock is ahead may have dated them after `until`. `registered` returns a subquery of all
 * registered endpoints.
 */
export async function deleteEndpoints(
  sql: Sql,
  registered: (sql: Sql) => Fragment,
  { tenantId, applicationName, endpointIds, until }: ApplicationKey & { endpointIds: string[]; until: Date },
) {
  const isPast = (writtenDate: Fragment) => sql`
    s.endpoint_id = any(${endpointIds}::text[]) and (${writtenDate} <= ${until}
      or not exists (select 1 from (${registered(sql)}) as e where e.endpoint_id = s.endpoint_id))`
  await sql`
    delete from software.endpoints s where tenant_id = ${tenantId} and application_name = ${applicationName}
      and ${isPast(sql`s.updated_date`)}`
  await sql`
    delete from software.attempts s where tenant_id = ${tenantId} and ${isPast(sql`s.offered_date`)}`
  await sql`
    delete from software.reports s where tenant_id = ${tenantId} and application_name = ${applicationName}
      and number in (select number from software.versions where tenant_id = ${tenantId} and application_name = ${applicationName})
      and ${isPast(sql`s.reported_date`)}`
}

/**
 * Removes the references to a deleted version from up to `limit` endpoints, in the order of their ids and beginning after the id `after`.
 * Returns the id of the last of these endpoints, or undefined when no further endpoints exist.
 */
export async function forgetVersion(
  sql: Sql,
  {
    tenantId,
    applicationName,
    number,
    after,
    limit,
  }: ApplicationKey & { number: number; after: string; limit: number },
): Promise<string | undefined> {
  const [row] = await sql<{ last: string | null; count: number }[]>`
    with page as materialized (
      select endpoint_id, offered, failed from software.endpoints
      where tenant_id = ${tenantId} and application_name = ${applicationName} and endpoint_id > ${after}
      order by endpoint_id limit ${limit}),
    updated as (
      update software.endpoints s set offered = nullif(s.offered, ${number}::integer),
        offered_date = case when s.offered = ${number}::integer then null else s.offered_date end,
        failed = nullif(s.failed, ${number}::integer)
      from page p where s.tenant_id = ${tenantId} and s.application_name = ${applicationName} and s.endpoint_id = p.endpoint_id
        and (p.offered = ${number}::integer or p.failed = ${number}::integer))
    select max(endpoint_id) as last, count(*) from page`
  return row!.count < limit ? undefined : row!.last!
}

/** Deletes all versions of a deleted application. Returns the keys of their contents. */
export async function deleteApplication(sql: Sql, { tenantId, applicationName }: ApplicationKey): Promise<string[]> {
  const rows = await sql<{ contentKey: string | null }[]>`
    delete from software.versions where tenant_id = ${tenantId} and application_name = ${applicationName}
    returning content_key`
  for (const table of ['rollout_filters', 'filters', 'report_counts', 'applications'])
    await sql`
      delete from ${sql.unsafe(`software.${table}`)} where tenant_id = ${tenantId} and application_name = ${applicationName}`
  return rows.flatMap(({ contentKey }) => contentKey ?? [])
}

/** Deletes a part of a deleted application's remaining rows. Returns false when no rows are left. */
export async function deleteRest(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  limit: number,
): Promise<boolean> {
  const { count: endpoints } = await sql`
    with gone as (
      delete from software.endpoints where tenant_id = ${tenantId} and application_name = ${applicationName} and endpoint_id in (
        select endpoint_id from software.endpoints
        where tenant_id = ${tenantId} and application_name = ${applicationName} limit ${limit})
      returning endpoint_id),
    attempts as (
      delete from software.attempts a using gone where a.tenant_id = ${tenantId} and a.endpoint_id = gone.endpoint_id)
    select from gone`
  const { count: reports } = await sql`
    delete from software.reports where tenant_id = ${tenantId} and application_name = ${applicationName}
      and (number, endpoint_id) in (select number, endpoint_id from software.reports
        where tenant_id = ${tenantId} and application_name = ${applicationName} limit ${limit})`
  return endpoints > 0 || reports > 0
}

const tenantTables = {
  versions: 'application_name, number',
  rollout_filters: 'application_name, number, position',
  filters: 'application_name, filter_id',
  report_counts: 'application_name, number, epoch, shard',
  applications: 'application_name',
  endpoints: 'application_name, endpoint_id',
  attempts: 'endpoint_id, attempt',
  reports: 'application_name, number, endpoint_id',
}

/** Deletes a part of a deleted tenant's rows. Returns false when no rows are left. */
export async function deleteOfTenant(sql: Sql, tenantId: string, limit: number): Promise<boolean> {
  let more = false
  for (const [table, key] of Object.entries(tenantTables)) {
    const [name, columns] = [sql.unsafe(`software.${table}`), sql.unsafe(key)]
    const { count } = await sql`
      delete from ${name} where tenant_id = ${tenantId} and (${columns}) in (
        select ${columns} from ${name} where tenant_id = ${tenantId} limit ${limit})`
    more ||= count === limit
  }
  return more
}
