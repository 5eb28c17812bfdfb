/** Stores the versions that endpoints run, the versions that were offered to them, and their reports. */
import type { Sql } from '../../../kernel/db.ts'
import type { ApplicationKey } from './versions.ts'

export interface EndpointState {
  endpointId: string
  current: number | null
  offered: number | null
  failed: number | null
  reportedDate: Date | null
  filterMask: number
  moreFilters: number[] | null
  /** False if it is not known yet which filters the endpoint matches. */
  matched: boolean
}

const columns = (sql: Sql) => sql`s.endpoint_id, s.current, s.offered, s.failed, s.reported_date, s.filter_mask,
  s.more_filters, s.matched`

/**
 * Finds the revision of the application and the state of an endpoint, by primary keys. Returns undefined if the application has no
 * software.
 */
export async function findState(
  sql: Sql,
  { tenantId, applicationName, endpointId }: ApplicationKey & { endpointId: string },
): Promise<{ revision: number; state: EndpointState | undefined } | undefined> {
  const [row] = await sql<(EndpointState & { revision: number })[]>`
    select a.revision, ${columns(sql)} from software.applications a
      left join software.endpoints s on s.tenant_id = a.tenant_id and s.application_name = a.application_name
        and s.endpoint_id = ${endpointId}
    where a.tenant_id = ${tenantId} and a.application_name = ${applicationName}`
  if (!row) return undefined
  const { revision, ...state } = row
  return { revision, state: state.endpointId === null ? undefined : state }
}

/** Finds the states of many endpoints, and the revision in the same snapshot. */
export async function findStates(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  endpointIds: string[],
): Promise<(EndpointState & { revision: number })[]> {
  return await sql<(EndpointState & { revision: number })[]>`
    select a.revision, ${columns(sql)} from software.applications a
      join software.endpoints s on s.tenant_id = a.tenant_id and s.application_name = a.application_name
    where a.tenant_id = ${tenantId} and a.application_name = ${applicationName}
      and s.endpoint_id = any(${endpointIds}::text[])`
}

export interface Offer {
  endpointId: string
  number: number
  version: string
}

/** Number of attempts that are kept for an endpoint. */
export const attemptsMax = 100

/** Records offers, with an attempt for each. Returns the endpoints that did not have this offer before. */
export async function insertOffers(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  offers: Offer[],
  at: Date,
): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    with given as (
      select * from unnest(${offers.map(({ endpointId }) => endpointId)}::text[], ${offers.map(({ number }) => number)}::integer[],
        ${offers.map(({ version }) => version)}::text[]) as g(endpoint_id, number, version)),
    put as (
      insert into software.endpoints as s (tenant_id, application_name, endpoint_id, offered, offered_date, updated_date)
      select ${tenantId}, ${applicationName}, endpoint_id, number, ${at}, ${at} from given order by endpoint_id
      on conflict (tenant_id, application_name, endpoint_id) do update
        set offered = excluded.offered, offered_date = excluded.offered_date, updated_date = excluded.updated_date
        where s.offered is distinct from excluded.offered
      returning s.endpoint_id),
    kept as (
      insert into software.attempts (tenant_id, endpoint_id, version, offered_date)
      select ${tenantId}, endpoint_id, version, ${at} from given join put using (endpoint_id)),
    -- The new attempt is not visible to this statement, so one attempt less is kept.
    pruned as (
      delete from software.attempts a using put
      where a.tenant_id = ${tenantId} and a.endpoint_id = put.endpoint_id and a.attempt <= (
        select o.attempt from software.attempts o
        where o.tenant_id = ${tenantId} and o.endpoint_id = put.endpoint_id
        order by o.attempt desc offset ${attemptsMax - 1} limit 1))
    select endpoint_id from put`
  return rows.map(({ endpointId }) => endpointId)
}

/** Withdraws offers that no device got. */
export async function deleteOffers(sql: Sql, { tenantId, applicationName }: ApplicationKey, offers: Offer[], at: Date) {
  await sql`
    with given as (
      select * from unnest(${offers.map(({ endpointId }) => endpointId)}::text[], ${offers.map(({ number }) => number)}::integer[])
        as g(endpoint_id, number)),
    taken as (
      update software.endpoints s set offered = null, offered_date = null from given g
      where s.tenant_id = ${tenantId} and s.application_name = ${applicationName} and s.endpoint_id = g.endpoint_id
        and s.offered = g.number and s.offered_date = ${at}
      returning s.endpoint_id)
    delete from software.attempts a using taken t
    where a.tenant_id = ${tenantId} and a.endpoint_id = t.endpoint_id and a.offered_date = ${at} and a.reported_date is null`
}

export interface Report {
  endpointId: string
  number: number
  version: string
  epoch: number
  ok: boolean
  statusCode: number
  reasonPhrase: string | null
  at: Date
}

/**
 * Records a report. Returns undefined if the version was deleted meanwhile; otherwise returns whether it is known which filters the
 * endpoint matches. The lock on the version makes its deletion wait, so that the deletion finds the endpoint.
 */
export async function insertReport(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
  report: Report,
): Promise<{ matched: boolean } | undefined> {
  const { endpointId, number, ok, statusCode, reasonPhrase, at } = report
  const [row] = await sql<{ matched: boolean }[]>`
    with held as materialized (
      select number from software.versions
      where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number} for share),
    closed as (
      update software.attempts set reported_date = ${at}, status_code = ${statusCode}, reason_phrase = ${reasonPhrase}
      where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and attempt = (
        select attempt from software.attempts
        where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and version = ${report.version} and reported_date is null
        order by attempt desc limit 1))
    insert into software.endpoints as s
      (tenant_id, application_name, endpoint_id, current, failed, status_code, reason_phrase, reported_date, updated_date)
    select ${tenantId}, ${applicationName}, ${endpointId}, case when ${ok} then number end, case when not ${ok} then number end,
      ${statusCode}::integer, ${reasonPhrase}::text, ${at}, ${at} from held
    on conflict (tenant_id, application_name, endpoint_id) do update set
      current = coalesce(excluded.current, s.current), failed = excluded.failed, status_code = excluded.status_code,
      reason_phrase = excluded.reason_phrase, reported_date = excluded.reported_date, updated_date = excluded.updated_date,
      offered = case when s.offered = ${number}::integer then null else s.offered end,
      offered_date = case when s.offered = ${number}::integer then null else s.offered_date end
    returning matched`
  return row
}

/** Deletes the record that endpoints could not apply a version. Returns the endpoints that had failed since `resumedAt`. */
export async function forgetFailures(
  sql: Sql,
  { tenantId, applicationName, number }: ApplicationKey & { number: number },
  { endpointIds, resumedAt }: { endpointIds: string[]; resumedAt: Date | undefined },
): Promise<string[]> {
  const rows = await sql<{ endpointId: string }[]>`
    update software.endpoints set failed = null
    where tenant_id = ${tenantId} and application_name = ${applicationName} and endpoint_id = any(${endpointIds}::text[])
      and failed = ${number}
      ${resumedAt === undefined ? sql`` : sql`and (reported_date < ${resumedAt}) is not true`}
    returning endpoint_id`
  return rows.map(({ endpointId }) => endpointId)
}

const shards = 16

/**
 * Counts a report for the failure threshold. Each endpoint counts once, with its last report. Must be called after `insertReport` in the
 * same transaction, whose lock on the row of the endpoint makes reports of one endpoint count one after the other.
 */
export async function countReport(sql: Sql, { tenantId, applicationName }: ApplicationKey, report: Report) {
  const { endpointId, number, epoch, ok, at } = report
  await sql`
    with old as (
      select epoch, failed from software.reports where tenant_id = ${tenantId} and application_name = ${applicationName}
        and number = ${number} and endpoint_id = ${endpointId}),
    put as (
      insert into software.reports (tenant_id, application_name, number, endpoint_id, epoch, failed, reported_date)
      values (${tenantId}, ${applicationName}, ${number}, ${endpointId}, ${epoch}, ${!ok}, ${at})
      on conflict (tenant_id, application_name, number, endpoint_id) do update
        set epoch = excluded.epoch, failed = excluded.failed, reported_date = excluded.reported_date),
    change as (
      select case when old.epoch = ${epoch}::integer then 0 else 1 end as reported,
        case when ${ok} then 0 else 1 end - case when old.epoch = ${epoch}::integer and old.failed then 1 else 0 end as failed
      from (select) one left join old on true)
    insert into software.report_counts as c (tenant_id, application_name, number, epoch, shard, reported, failed)
    select ${tenantId}, ${applicationName}, ${number}, ${epoch}, abs(hashtext(${endpointId}) % ${shards}), reported, failed from change
    where reported <> 0 or failed <> 0
    on conflict (tenant_id, application_name, number, epoch, shard) do update
      set reported = c.reported + excluded.reported, failed = c.failed + excluded.failed`
}

/** Returns how many endpoints reported the version since the last resume, and how many of these endpoints could not apply it. */
export async function sumReports(
  sql: Sql,
  { tenantId, applicationName, number, epoch }: ApplicationKey & { number: number; epoch: number },
): Promise<{ reported: number; failed: number }> {
  const [row] = await sql<{ reported: number; failed: number }[]>`
    select coalesce(sum(reported), 0)::bigint as reported, coalesce(sum(failed), 0)::bigint as failed from software.report_counts
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number} and epoch = ${epoch}`
  return row!
}

/** Returns whether the version is the current version of any endpoint. */
export async function isCurrent(sql: Sql, { tenantId, applicationName, number }: ApplicationKey & { number: number }) {
  const rows = await sql`
    select from software.endpoints
    where tenant_id = ${tenantId} and application_name = ${applicationName} and current = ${number} limit 1`
  return rows.length > 0
}

export interface AttemptRow {
  version: string
  offeredDate: Date
  reportedDate: Date | null
  statusCode: number | null
  reasonPhrase: string | null
}

export async function findAttempts(sql: Sql, tenantId: string, endpointId: string): Promise<AttemptRow[]> {
  return await sql<AttemptRow[]>`
    select version, offered_date, reported_date, status_code, reason_phrase from software.attempts
    where tenant_id = ${tenantId} and endpoint_id = ${endpointId} order by attempt desc limit ${attemptsMax}`
}
