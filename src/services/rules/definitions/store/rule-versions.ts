/** SQL for the versions of rules. */
import type { Sql } from '../../../../kernel/db.ts'
import type { Window } from '../../../../kernel/paging.ts'

export interface VersionRow {
  version: number
  /** The fields name, description, expression, state and uiMetadata of this version. */
  fields: Record<string, unknown>
  updatedAt: Date
  updatedBy: string
}

export const versionsKept = 100

/** Stores a version of a rule, and deletes the version that is now too old. */
export async function insertVersion(
  sql: Sql,
  { tenantId, ruleId, fields, ...row }: VersionRow & { tenantId: string; ruleId: string },
): Promise<void> {
  await sql`
    insert into rules.rule_versions ${sql({ tenantId, ruleId, fields: sql.json(fields), ...row })}`
  await sql`
    delete from rules.rule_versions where rule_id = ${ruleId} and version <= ${row.version - versionsKept}`
}

export async function countVersions(sql: Sql, ruleId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from rules.rule_versions where rule_id = ${ruleId}`
  return row!.count
}

export async function findVersions(sql: Sql, ruleId: string, { offset, limit }: Window): Promise<VersionRow[]> {
  return await sql<VersionRow[]>`
    select version, fields, updated_at, updated_by from rules.rule_versions where rule_id = ${ruleId}
    order by version desc offset ${offset} limit ${limit}`
}

export async function findVersion(sql: Sql, ruleId: string, version: number): Promise<VersionRow | undefined> {
  const [row] = await sql<VersionRow[]>`
    select version, fields, updated_at, updated_by from rules.rule_versions
    where rule_id = ${ruleId} and version = ${version}`
  return row
}
