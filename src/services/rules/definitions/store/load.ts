/** SQL that reads definitions for the engine. */
import type { Sql } from '../../../../kernel/db.ts'
import type { ActionDefinition, RuleDefinition, TriggerDefinition } from '../../model.ts'
import { findChangedIds, findRevision } from './revisions.ts'

/** A rule with its links, in the order of attachment. */
export interface LinkedRule extends RuleDefinition {
  triggerIds: string[]
  positiveActionIds: string[]
  negativeActionIds: string[]
}

export interface Definitions {
  /** A revision of the tenant. The definitions are at least as new as this revision. */
  revision: number
  rules: LinkedRule[]
  actions: ActionDefinition[]
  triggers: TriggerDefinition[]
}

/** Reads all definitions of a tenant. */
export async function loadDefinitions(sql: Sql, tenantId: string): Promise<Definitions> {
  // The revision is read first. A change between the two reads is then in the definitions already, and `loadChanges` reads it once more.
  const revision = await findRevision(sql, tenantId)
  return { revision, ...(await findDefinitions(sql, tenantId, undefined)) }
}

/**
 * Reads the definitions that changed after a revision. `gone` contains the ids of deleted definitions. Returns undefined if too many
 * revisions have passed; then all definitions must be read.
 */
export async function loadChanges(
  sql: Sql,
  tenantId: string,
  after: number,
): Promise<(Definitions & { gone: string[] }) | undefined> {
  const revision = await findRevision(sql, tenantId)
  const ids = revision === after ? [] : await findChangedIds(sql, tenantId, { after, until: revision })
  if (!ids) return undefined
  if (ids.length === 0) return { revision, rules: [], actions: [], triggers: [], gone: [] }
  const found = await findDefinitions(sql, tenantId, ids)
  const present = new Set([...found.rules, ...found.actions, ...found.triggers].map(({ id }) => id))
  return { revision, ...found, gone: ids.filter((id) => !present.has(id)) }
}

/** Returns the ids of all tenants that have definitions, or had definitions that were deleted. */
export async function findTenantsWithRules(sql: Sql): Promise<string[]> {
  const rows = await sql<{ tenantId: string }[]>`select tenant_id from rules.revisions`
  return rows.map(({ tenantId }) => tenantId)
}

async function findDefinitions(sql: Sql, tenantId: string, ids: string[] | undefined) {
  const condition = sql`tenant_id = ${tenantId} ${ids ? sql`and id = any(${ids}::uuid[])` : sql``}`
  const [rules, actions, triggers] = await Promise.all([
    sql<RuleRow[]>`
      select id, tenant_id, name, expression, state, version, alert_setting_id, writer_type, writer_id,
        array(select trigger_id::text from rules.rule_triggers where rule_id = r.id order by position) as trigger_ids,
        array(select action_id::text from rules.rule_actions where rule_id = r.id and is_positive order by position)
          as positive_action_ids,
        array(select action_id::text from rules.rule_actions where rule_id = r.id and not is_positive order by position)
          as negative_action_ids
      from rules.rules r where ${condition}`,
    sql<ActionRow[]>`
      select id, tenant_id, type, name, fields, value_types, alert_setting_id, writer_type, writer_id
      from rules.actions where ${condition}`,
    sql<TriggerRow[]>`
      select id, tenant_id, type, name, metadata, application_name, version_name, endpoint_ids, fields
      from rules.triggers where ${condition}`,
  ])
  return { rules: rules.map(ruleOf), actions: actions.map(actionOf), triggers: triggers.map(triggerOf) }
}

interface WriterColumns {
  writerType: string
  writerId: string
  alertSettingId: string | null
}
type RuleRow = Omit<LinkedRule, 'writer' | 'alertSettingId'> & WriterColumns
type ActionRow = Omit<ActionDefinition, 'writer' | 'alertSettingId'> & WriterColumns
type TriggerRow = Pick<TriggerDefinition, 'id' | 'tenantId' | 'type' | 'name' | 'fields'> & {
  metadata: Record<string, unknown> | null
  applicationName: string | null
  versionName: string | null
  endpointIds: string[] | null
}

const withWriter = <T extends WriterColumns>({ writerType, writerId, alertSettingId, ...rest }: T) => ({
  ...rest,
  ...(alertSettingId !== null && { alertSettingId }),
  writer: { type: writerType, id: writerId },
})
const ruleOf = (row: RuleRow): LinkedRule => withWriter(row)
const actionOf = (row: ActionRow): ActionDefinition => withWriter(row)
const triggerOf = ({ metadata, applicationName, versionName, endpointIds, ...row }: TriggerRow): TriggerDefinition => ({
  ...row,
  ...(metadata !== null && { metadata }),
  ...(applicationName !== null && { appName: applicationName }),
  ...(versionName !== null && { appVersionName: versionName }),
  ...(endpointIds !== null && { endpointIds }),
})
