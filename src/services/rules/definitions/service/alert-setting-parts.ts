/** Creates, changes and deletes the parts of an alert setting (its hidden rules, triggers and actions) together with the setting. */
import type { Ctx } from '../../../../kernel/contract.ts'
import type { Sql } from '../../../../kernel/db.ts'
import { type AlertSettingFields, type Part, type PartName, partLinks, partsOf } from '../alert-setting-parts.ts'
import { replaceLinks } from '../store/alert-settings.ts'
import { deleteRow, insertRow, lockRow, updateRow } from '../store/library.ts'
import { insertVersion } from '../store/rule-versions.ts'
import type { Deps } from './deps.ts'
import { isSame, type Row } from './library.ts'
import { nameOf, writerOf } from './rules.ts'
import type { SelectionColumns } from './selection.ts'

/** The ids of the parts that exist. */
export type PartIds = Partial<Record<PartName, string>>

const tableOf: Record<PartName, 'rules' | 'triggers' | 'actions'> = {
  rule: 'rules',
  trigger: 'triggers',
  activation: 'actions',
  resolution: 'actions',
  noticeRule: 'rules',
  noticeTrigger: 'triggers',
  email: 'actions',
  webhook: 'actions',
}

/** Creates, changes and deletes parts, so that they match the setting. Returns the ids of the parts. */
export async function writeParts(
  deps: Deps,
  sql: Sql,
  ctx: Ctx,
  setting: { id: string; given: AlertSettingFields; selection: SelectionColumns; parts: PartIds },
): Promise<PartIds> {
  const { kit, changes } = deps
  const newParts = partsOf(setting.id, setting.given)
  const ids: PartIds = {}
  for (const [name, part] of Object.entries(newParts) as [PartName, Part][]) {
    const columns = columnsOf(ctx, part, setting.selection)
    const existing = setting.parts[name]
    ids[name] = existing ?? kit.newId()
    if (existing === undefined)
      await insertPart(deps, sql, ctx, { part, id: ids[name], columns, settingId: setting.id })
    else await changePart(deps, sql, ctx, { part, id: existing, columns })
  }
  const gone = (Object.keys(setting.parts) as PartName[]).filter((name) => !newParts[name])
  for (const name of gone) await deleteRow(sql, tableOf[name], { tenantId: ctx.tenantId, id: setting.parts[name]! })
  for (const { rule, triggers, positive, negative } of partLinks) {
    const ruleId = ids[rule]
    const present = (names: PartName[]) => names.flatMap((name) => ids[name] ?? [])
    const links = { triggers: present(triggers), positive: present(positive), negative: present(negative) }
    if (ruleId !== undefined) await replaceLinks(sql, { tenantId: ctx.tenantId, ruleId }, links)
  }
  await changes.record(sql, ctx.tenantId, [...Object.values(setting.parts), ...Object.values(ids)])
  return ids
}

export async function deletePartsOf({ changes }: Deps, sql: Sql, tenantId: string, parts: PartIds) {
  for (const [name, id] of Object.entries(parts)) await deleteRow(sql, tableOf[name as PartName], { tenantId, id })
  await changes.record(sql, tenantId, Object.values(parts))
}

const columnsOf = (ctx: Ctx, part: Part, selection: SelectionColumns): object => ({
  ...part.columns,
  ...(part.table === 'triggers' ? selection : writerOf(ctx)),
})

interface WrittenPart {
  part: Part
  id: string
  columns: object
}

async function insertPart(
  { kit }: Deps,
  sql: Sql,
  ctx: Ctx,
  { part, id, columns, settingId }: WrittenPart & { settingId: string },
) {
  const at = kit.now()
  const type = part.table === 'rules' ? {} : { type: part.type }
  const commonColumns = { id, tenantId: ctx.tenantId, ...type, alertSettingId: settingId, createdAt: at, updatedAt: at }
  await insertRow(sql, part.table, { ...commonColumns, ...columns })
  if (part.table === 'rules')
    await insertVersion(sql, { ruleId: id, version: 1, fields: part.columns, updatedBy: nameOf(ctx) })
}

async function changePart({ kit }: Deps, sql: Sql, ctx: Ctx, { part, id, columns }: WrittenPart) {
  const key = { tenantId: ctx.tenantId, id }
  const row = await lockRow<Row>(sql, part.table, key)
  if (!row || isSame(row, columns)) return
  // If only the writer changes, no version is created, because the rule itself did not change.
  const isChanged = !isSame(row, part.columns)
  const counter = part.table === 'rules' ? 'version' : 'revision'
  const counted = row[counter]! + (isChanged ? 1 : 0)
  await updateRow(sql, part.table, key, { ...columns, [counter]: counted, updatedAt: kit.now() })
  if (part.table === 'rules' && isChanged)
    await insertVersion(sql, { ruleId: id, version: counted, fields: part.columns, updatedBy: nameOf(ctx) })
}
