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

/** Stores the version of a rule that was just written, and deletes the version that is now too old. Its time is that of the rule. */
export async function insertVersion(
  sql: Sql,
  { ruleId, version, fields, updatedBy }: Omit<VersionRow, 'updatedAt'> & { ruleId: string },
): Promise<void> {
  await sql`
    insert into rules.rule_versions (tenant_id, rule_id, version, fields, updated_at, updated_by)
    select tenant_id, id, ${version}::integer, ${sql.json(fields)}::jsonb, updated_at, ${updatedBy}::text
    from rules.rules where id = ${ruleId}`
  await sql`
    delete from rules.rule_versions where rule_id = ${ruleId} and version <= ${version - versionsKept}`
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
