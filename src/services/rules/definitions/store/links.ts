/** SQL for the links from rules to triggers and actions. */
import type { Sql } from '../../../../kernel/db.ts'

export interface LinkedItem {
  id: string
  type: string
  name: string
}

/** A trigger or action that a request names and that is to be attached. */
export interface Attachable {
  id: string
  alertSettingId: string | null
}

export async function findRulesOfAction(sql: Sql, actionId: string): Promise<string[]> {
  const rows = await sql<{ ruleId: string }[]>`
    select distinct rule_id from rules.rule_actions where action_id = ${actionId}`
  return rows.map(({ ruleId }) => ruleId)
}

export async function findRulesOfTrigger(sql: Sql, triggerId: string): Promise<string[]> {
  const rows = await sql<{ ruleId: string }[]>`
    select rule_id from rules.rule_triggers where trigger_id = ${triggerId}`
  return rows.map(({ ruleId }) => ruleId)
}

export async function findTriggersOfRule(sql: Sql, ruleId: string): Promise<LinkedItem[]> {
  return await sql<LinkedItem[]>`
    select t.id, t.type, t.name from rules.rule_triggers l join rules.triggers t on t.id = l.trigger_id
    where l.rule_id = ${ruleId} order by l.position`
}

export async function findActionsOfRule(sql: Sql, ruleId: string): Promise<(LinkedItem & { isPositive: boolean })[]> {
  return await sql<(LinkedItem & { isPositive: boolean })[]>`
    select a.id, a.type, a.name, l.is_positive from rules.rule_actions l join rules.actions a on a.id = l.action_id
    where l.rule_id = ${ruleId} order by l.position`
}

/** Finds triggers or actions of a type by id, and locks them so that they are not deleted before the commit. */
export async function findAttachable(
  sql: Sql,
  table: 'triggers' | 'actions',
  { tenantId, type, ids }: { tenantId: string; type: string; ids: string[] },
): Promise<Attachable[]> {
  return await sql<Attachable[]>`
    select id, alert_setting_id from ${table === 'triggers' ? sql`rules.triggers` : sql`rules.actions`}
    where tenant_id = ${tenantId} and type = ${type} and id = any(${ids}::uuid[]) order by id for key share`
}

interface OfRule {
  tenantId: string
  ruleId: string
}

export async function deleteTriggerLinks(sql: Sql, { ruleId }: OfRule, triggerIds: string[]): Promise<void> {
  await sql`delete from rules.rule_triggers where rule_id = ${ruleId} and trigger_id = any(${triggerIds}::uuid[])`
}

/** Appends links after the existing links of the rule. */
export async function appendTriggerLinks(sql: Sql, { tenantId, ruleId }: OfRule, triggerIds: string[]): Promise<void> {
  await sql`
    insert into rules.rule_triggers (rule_id, trigger_id, tenant_id, position)
    select ${ruleId}, id, ${tenantId}, position + coalesce(
      (select max(position) from rules.rule_triggers where rule_id = ${ruleId}), 0)
    from unnest(${triggerIds}::uuid[]) with ordinality as given(id, position)`
}

export async function deleteActionLinks(
  sql: Sql,
  { ruleId, isPositive }: OfRule & { isPositive: boolean },
  actionIds: string[],
): Promise<void> {
  await sql`
    delete from rules.rule_actions
    where rule_id = ${ruleId} and is_positive = ${isPositive} and action_id = any(${actionIds}::uuid[])`
}

/** Appends links after the existing links of the rule. */
export async function appendActionLinks(
  sql: Sql,
  { tenantId, ruleId, isPositive }: OfRule & { isPositive: boolean },
  actionIds: string[],
): Promise<void> {
  await sql`
    insert into rules.rule_actions (rule_id, action_id, is_positive, tenant_id, position)
    select ${ruleId}, id, ${isPositive}, ${tenantId}, position + coalesce(
      (select max(position) from rules.rule_actions where rule_id = ${ruleId}), 0)
    from unnest(${actionIds}::uuid[]) with ordinality as given(id, position)`
}
