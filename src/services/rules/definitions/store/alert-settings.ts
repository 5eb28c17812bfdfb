/** SQL that only alert settings need. library.ts has the SQL that all objects share. */
import type { Sql } from '../../../../kernel/db.ts'

export async function setParts(
  sql: Sql,
  { tenantId, id }: { tenantId: string; id: string },
  parts: Record<string, string>,
): Promise<void> {
  await sql`update rules.alert_settings set parts = ${sql.json(parts)} where tenant_id = ${tenantId} and id = ${id}`
}

/** Replaces all links of a rule to its triggers and actions. */
export async function replaceLinks(
  sql: Sql,
  { tenantId, ruleId }: { tenantId: string; ruleId: string },
  links: { triggers: string[]; positive: string[]; negative: string[] },
): Promise<void> {
  await sql`delete from rules.rule_triggers where rule_id = ${ruleId}`
  await sql`delete from rules.rule_actions where rule_id = ${ruleId}`
  await sql`
    insert into rules.rule_triggers (rule_id, trigger_id, tenant_id, position)
    select ${ruleId}, id, ${tenantId}, position from unnest(${links.triggers}::uuid[]) with ordinality as given(id, position)`
  const actions = [...links.positive, ...links.negative]
  await sql`
    insert into rules.rule_actions (rule_id, action_id, is_positive, tenant_id, position)
    select ${ruleId}, id, position <= ${links.positive.length}, ${tenantId}, position
    from unnest(${actions}::uuid[]) with ordinality as given(id, position)`
}
