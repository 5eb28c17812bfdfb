/** Stores software versions and their filters. */
import type { Sql } from '../../../kernel/db.ts'
import type { PlannedFilter, PlannedVersion, RolloutState, RolloutStrategy } from '../plan.ts'

export interface ApplicationKey {
  tenantId: string
  applicationName: string
}

export interface RolloutFilter {
  filterId: string
  rolloutDate: Date | null
}

export interface StoredFile {
  fileId: string
  fileName: string
  fileSize: number
  fileChecksum: string
  fileDate: Date
  contentKey: string
}

export interface VersionFields {
  metadata: string | null
  upgradableFrom: number[]
  rolloutStrategy: RolloutStrategy
  skipDispatching: boolean
  failurePercent: number | null
  minimumAttempts: number | null
}

export interface VersionRow extends ApplicationKey, VersionFields, Nullable<StoredFile> {
  number: number
  version: string
  specification: string | null
  filename: string | null
  rolloutState: RolloutState
  reason: string | null
  createdDate: Date
  updatedDate: Date
  filters: { filterId: string; rolloutDate: string | null }[]
}
type Nullable<T> = { [K in keyof T]: T[K] | null }

/** Locks the software of an application until the transaction ends. Creates the row of the application if it does not exist. */
export async function lockApplication(sql: Sql, { tenantId, applicationName }: ApplicationKey) {
  await sql`
    insert into software.applications (tenant_id, application_name) values (${tenantId}, ${applicationName})
    on conflict do nothing`
  await sql`
    select from software.applications where tenant_id = ${tenantId} and application_name = ${applicationName} for update`
}

const lockName = (applicationName: string) => `software.application\n${applicationName}`

/** Blocks the deletion of the application until the transaction ends. */
export async function holdApplication(sql: Sql, applicationName: string) {
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${lockName(applicationName)}, 0))`
}

/** Waits for running changes of the application's software, and blocks new changes until the transaction ends. */
export async function blockChanges(sql: Sql, applicationName: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${lockName(applicationName)}, 0))`
}

/** Sets a new revision of the application, so that all nodes read its plan again. */
export async function bumpRevision(sql: Sql, { tenantId, applicationName }: ApplicationKey) {
  await sql`
    update software.applications set revision = nextval('software.revisions')
    where tenant_id = ${tenantId} and application_name = ${applicationName}`
}

interface PlanRow {
  revision: number
  versions: (Omit<PlannedVersion, 'filters' | 'threshold' | 'resumedAt'> & {
    filters: { bit: number | null; date: number | null }[]
    percent: number | null
    minimumAttempts: number | null
    resumedAt: number | null
  })[]
}

/**
 * Reads the versions of an application and their filters, which determine the version that each endpoint gets. One statement reads
 * everything, so that all values are of the same moment. Returns undefined if the application never had software.
 */
export async function findPlan(
  sql: Sql,
  { tenantId, applicationName }: ApplicationKey,
): Promise<{ revision: number; versions: PlannedVersion[] } | undefined> {
  const [row] = await sql<PlanRow[]>`
    select a.revision, coalesce((
      select json_agg(json_build_object('number', v.number, 'version', v.version, 'upgradableFrom', v.upgradable_from,
        'strategy', v.rollout_strategy, 'state', v.rollout_state, 'hasContent', not v.skip_dispatching or v.file_id is not null,
        'percent', v.failure_percent, 'minimumAttempts', v.minimum_attempts, 'epoch', v.epoch,
        'resumedAt', extract(epoch from (v.resumed_date)) * 1000,
        'filters', coalesce((
          select json_agg(json_build_object('bit', f.bit, 'date', extract(epoch from (r.rollout_date)) * 1000) order by r.position)
          from software.rollout_filters r left join software.filters f on f.tenant_id = r.tenant_id
            and f.application_name = r.application_name and f.filter_id = r.filter_id and f.ready
          where r.tenant_id = v.tenant_id and r.application_name = v.application_name and r.number = v.number), '[]'))
        order by v.number)
      from software.versions v
      where v.tenant_id = a.tenant_id and v.application_name = a.application_name), '[]') as versions
    from software.applications a where a.tenant_id = ${tenantId} and a.application_name = ${applicationName}`
  return row && { revision: row.revision, versions: row.versions.map(plannedVersion) }
}

function plannedVersion({ percent, minimumAttempts, resumedAt, filters, ...rest }: PlanRow['versions'][number]) {
  return {
    ...rest,
    filters: filters.map(
      ({ bit, date }): PlannedFilter => ({
        ...(bit !== null && { bit }),
        ...(date !== null && { date: Number(date) }),
      }),
    ),
    ...(percent !== null && { threshold: { percent, minimumAttempts: minimumAttempts ?? 1 } }),
    ...(resumedAt !== null && { resumedAt: Number(resumedAt) }),
  } satisfies PlannedVersion
}

const columns = (sql: Sql) => sql`v.tenant_id, v.application_name, v.number, v.version, v.specification, v.metadata,
  v.upgradable_from, v.rollout_strategy, v.skip_dispatching, v.filename, v.failure_percent, v.minimum_attempts,
  v.rollout_state, v.reason, v.file_id, v.file_name, v.file_size, v.file_checksum, v.file_date, v.content_key,
  v.created_date, v.updated_date, coalesce((
    select json_agg(json_build_object('filterId', r.filter_id,
      'rolloutDate', to_char(r.rollout_date at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) order by r.position)
    from software.rollout_filters r
    where r.tenant_id = v.tenant_id and r.application_name = v.application_name and r.number = v.number), '[]') as filters`

export async function findVersion(
  sql: Sql,
  { tenantId, applicationName, version }: ApplicationKey & { version: string },
): Promise<VersionRow | undefined> {
  const [row] = await sql<VersionRow[]>`
    select ${columns(sql)} from software.versions v
    where v.tenant_id = ${tenantId} and v.application_name = ${applicationName} and v.version = ${version}`
  return row
}

/** Finds versions by their numbers, ordered by number. */
export async function findVersions(
  sql: Sql,
  { tenantId, applicationName, numbers }: ApplicationKey & { numbers: number[] },
): Promise<VersionRow[]> {
  return await sql<VersionRow[]>`
    select ${columns(sql)} from software.versions v
    where v.tenant_id = ${tenantId} and v.application_name = ${applicationName} and v.number = any(${numbers}::integer[])
    order by v.number`
}

/** Locks the row of a version until the transaction ends. Reports of devices on this version and its deletion wait meanwhile. */
export async function lockVersion(
  sql: Sql,
  { tenantId, applicationName, number }: ApplicationKey & { number: number },
) {
  await sql`
    select from software.versions
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number} for update`
}

export type NewVersion = ApplicationKey &
  VersionFields & {
    version: string
    specification: string | null
    filename: string | null
    createdDate: Date
    updatedDate: Date
  }

/** Inserts a version. Returns its number, or undefined if the version exists. */
export async function insertVersion(sql: Sql, version: NewVersion): Promise<number | undefined> {
  const { tenantId, applicationName } = version
  const [exists] = await sql`
    select from software.versions
    where tenant_id = ${tenantId} and application_name = ${applicationName} and version = ${version.version}`
  if (exists) return undefined
  const [row] = await sql<{ lastNumber: number }[]>`
    update software.applications set last_number = last_number + 1
    where tenant_id = ${tenantId} and application_name = ${applicationName} returning last_number`
  const number = row!.lastNumber
  await sql`insert into software.versions ${sql({ ...version, number })}`
  return number
}

export async function updateVersion(
  sql: Sql,
  { tenantId, applicationName, number }: ApplicationKey & { number: number },
  fields: Partial<VersionFields & Nullable<StoredFile> & { updatedDate: Date }>,
) {
  await sql`
    update software.versions set ${sql(fields)}
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number}`
}

export async function replaceRolloutFilters(
  sql: Sql,
  { tenantId, applicationName, number }: ApplicationKey & { number: number },
  filters: RolloutFilter[],
) {
  await sql`
    delete from software.rollout_filters
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number}`
  if (filters.length === 0) return
  await sql`
    insert into software.rollout_filters (tenant_id, application_name, number, position, filter_id, rollout_date)
    select ${tenantId}, ${applicationName}, ${number}, position, filter_id, rollout_date
    from unnest(${filters.map(({ filterId }) => filterId)}::text[], ${filters.map(({ rolloutDate }) => rolloutDate)}::timestamptz[])
      with ordinality as given(filter_id, rollout_date, position)`
}

/** Deletes a version with its filters and reports, and removes it from the upgrade graph. Returns the key of its content. */
export async function deleteVersion(
  sql: Sql,
  { tenantId, applicationName, number }: ApplicationKey & { number: number },
): Promise<string | null> {
  await replaceRolloutFilters(sql, { tenantId, applicationName, number }, [])
  await sql`
    delete from software.reports
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number}`
  await sql`
    delete from software.report_counts
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number}`
  await sql`
    update software.versions set upgradable_from = array_remove(upgradable_from, ${number}::integer)
    where tenant_id = ${tenantId} and application_name = ${applicationName} and ${number}::integer = any(upgradable_from)`
  const [row] = await sql<{ contentKey: string | null }[]>`
    delete from software.versions
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number} returning content_key`
  return row?.contentKey ?? null
}

/**
 * Sets the state of a rollout. With `resumed`, reports are counted from 0 again, even if the rollout was active already. Returns false if
 * nothing changed, which without `resumed` means that the rollout already had the state.
 */
export async function setRolloutState(
  sql: Sql,
  { tenantId, applicationName, number }: ApplicationKey & { number: number },
  to: { state: RolloutState; reason: string | null; at: Date; resumed?: boolean },
): Promise<boolean> {
  const { count } = await sql`
    update software.versions set rollout_state = ${to.state}, reason = ${to.reason}, updated_date = ${to.at}
      ${to.resumed ? sql`, epoch = epoch + 1, resumed_date = ${to.at}` : sql``}
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number}
      ${to.resumed ? sql`` : sql`and rollout_state <> ${to.state}`}`
  return count === 1
}

/** Starts a new count of reports. Failures before `at` no longer count. The rollout keeps its state. */
export async function beginEpoch(
  sql: Sql,
  { tenantId, applicationName, number }: ApplicationKey & { number: number },
  at: Date,
) {
  await sql`
    update software.versions set epoch = epoch + 1, resumed_date = ${at}, updated_date = ${at}
    where tenant_id = ${tenantId} and application_name = ${applicationName} and number = ${number}`
}

export async function findByFile(sql: Sql, fileId: string): Promise<VersionRow | undefined> {
  const [row] = await sql<VersionRow[]>`select ${columns(sql)} from software.versions v where v.file_id = ${fileId}`
  return row
}

/**
 * Finds applications with a rollout date later than `after` and not later than `until`. Returns one page, in the order of tenant and name;
 * `from` is the last application of the previous page.
 */
export async function findDueApplications(
  sql: Sql,
  { after, until, from, limit }: { after: Date; until: Date; from: ApplicationKey; limit: number },
): Promise<ApplicationKey[]> {
  return await sql<ApplicationKey[]>`
    select distinct tenant_id, application_name from software.rollout_filters
    where rollout_date > ${after} and rollout_date <= ${until}
      and (tenant_id, application_name) > (${from.tenantId}, ${from.applicationName})
    order by tenant_id, application_name limit ${limit}`
}

export async function findNextDate(sql: Sql, after: Date): Promise<Date | undefined> {
  const [row] = await sql<{ date: Date | null }[]>`
    select min(rollout_date) as date from software.rollout_filters where rollout_date > ${after}`
  return row?.date ?? undefined
}
