/** Alert settings. An alert setting has hidden rules, triggers and actions that are derived from it (document 5, 5.16). */
import type { Ctx } from '../../../../kernel/contract.ts'
import type { Sql } from '../../../../kernel/db.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { checkIfMatch } from '../../../../kernel/etag.ts'
import { NoAlertSetting } from '../../errors.ts'
import { webhookUrlProblem } from '../action-types/webhook.ts'
import { type AlertSettingFields, ruleExpression } from '../alert-setting-parts.ts'
import { setParts } from '../store/alert-settings.ts'
import { sizeOfDefinitions } from '../store/sizes.ts'
import { deletePartsOf, type PartIds, writeParts } from './alert-setting-parts.ts'
import { checkDefinitionLimit } from './definition-limit.ts'
import type { Deps } from './deps.ts'
import * as library from './library.ts'
import { withoutNulls } from './rules.ts'
import { checkScript } from './scripts.ts'
import { checkSelection, type SelectionColumns } from './selection.ts'

const settingKind: library.Kind = {
  table: 'alert_settings',
  scope: 'alert-setting',
  resource: 'alert-setting',
  missing: (id) => NoAlertSetting({ id }),
  counter: 'revision',
  isCached: false,
}

interface SettingRow extends library.Row {
  uiMetadata: string | null
  state: 'ENABLED' | 'DISABLED'
  /** All fields that have no column of their own. */
  fields: Omit<AlertSettingFields, 'name' | 'description' | 'state' | 'uiMetadata'>
  parts: PartIds
}

export type AlertSettingView = AlertSettingFields & { id: string; createdAt: Date; updatedAt: Date }

export interface AlertSettingOperations {
  create(ctx: Ctx, fields: AlertSettingFields): Promise<string>
  list(ctx: Ctx, query: library.ListQuery): Promise<library.Listed<AlertSettingView>>
  read(ctx: Ctx, id: string): Promise<{ view: AlertSettingView; etag: string }>
  update(ctx: Ctx, id: string, fields: AlertSettingFields, ifMatch: string | undefined): Promise<void>
  delete(ctx: Ctx, id: string, ifMatch: string | undefined): Promise<void>
}

export const createAlertSettingOperations = (deps: Deps): AlertSettingOperations => ({
  create: (ctx, fields) => create(deps, ctx, fields),
  list: (ctx, query) => library.list(deps, ctx, settingKind, query, (rows: SettingRow[]) => rows.map(viewOf)),
  async read(ctx, id) {
    const row = await library.requireRow<SettingRow>(deps.kit.db.sql, ctx, settingKind, { id, verb: 'read' })
    return { view: viewOf(row), etag: library.etagOfRow(settingKind, row) }
  },
  update: (ctx, id, fields, ifMatch) => update(deps, ctx, id, fields, ifMatch),
  delete: (ctx, id, ifMatch) =>
    library.remove(deps, ctx, settingKind, { id, ifMatch }, async (sql, row) => {
      await deletePartsOf(deps, sql, row.tenantId, (row as SettingRow).parts)
      return []
    }),
})

async function create(deps: Deps, ctx: Ctx, setting: AlertSettingFields): Promise<string> {
  await checkFields(deps, ctx, setting)
  const selection = await checkSelection(deps, ctx, setting)
  return await deps.kit.db.tx(async (sql) => {
    const id = await library.insert(deps, sql, ctx, settingKind, { ...columnsOf(setting), parts: {} })
    await saveParts(deps, sql, ctx, { id, given: setting, selection, parts: {} })
    return id
  })
}

async function update(
  deps: Deps,
  ctx: Ctx,
  id: string,
  settingFields: AlertSettingFields,
  ifMatch: string | undefined,
) {
  const { db } = deps.kit
  const before = await library.requireRow<SettingRow>(db.sql, ctx, settingKind, { id, verb: 'update' })
  await checkFields(deps, ctx, settingFields)
  const selection = await checkSelection(deps, ctx, settingFields, { known: selectionOf(before.fields) })
  await db.tx(async (sql) => {
    const row = await library.requireRow<SettingRow>(sql, ctx, settingKind, { id, verb: 'update', lock: true })
    checkIfMatch(ifMatch, library.etagOfRow(settingKind, row))
    await library.change(deps, sql, settingKind, row, columnsOf(settingFields))
    await saveParts(deps, sql, ctx, { id: row.id, given: settingFields, selection, parts: row.parts })
  })
}

/** Writes the parts of a setting, and stores their ids. */
async function saveParts(
  deps: Deps,
  sql: Sql,
  ctx: Ctx,
  setting: { id: string; given: AlertSettingFields; selection: SelectionColumns; parts: PartIds },
) {
  const before = await sizeOfDefinitions(sql, ctx.tenantId)
  const parts = await writeParts(deps, sql, ctx, setting)
  await setParts(sql, { tenantId: ctx.tenantId, id: setting.id }, parts)
  await checkDefinitionLimit(deps, sql, ctx.tenantId, before)
}

async function checkFields(deps: Deps, ctx: Ctx, setting: AlertSettingFields) {
  const { activationExpression, resolutionExpression, webhookUrl } = setting
  await checkScript(deps, ctx, 'activationExpression', activationExpression)
  if (resolutionExpression !== undefined) {
    await checkScript(deps, ctx, 'resolutionExpression', resolutionExpression)
    // Both expressions run as one script, so together they must not exceed the maximum length of a script.
    await checkScript(deps, ctx, 'resolutionExpression', ruleExpression(activationExpression, resolutionExpression))
  }
  const urlProblem = webhookUrl === undefined ? undefined : webhookUrlProblem(webhookUrl)
  if (urlProblem !== undefined) throw invalidField('webhookUrl', urlProblem)
}

const columnsOf = ({ name, description, state = 'ENABLED', uiMetadata, ...given }: AlertSettingFields) => ({
  name,
  description: description ?? null,
  state,
  uiMetadata: uiMetadata ?? null,
  fields: Object.fromEntries(
    fieldNames.filter((field) => given[field] !== undefined).map((field) => [field, given[field]]),
  ),
})

/** The fields that are stored. Other fields of a body are ignored. */
const fieldNames = [
  'alertType',
  'severityLevel',
  'appName',
  'appVersionName',
  'endpointIds',
  'activationExpression',
  'resolutionExpression',
  'message',
  'emailRecipients',
  'webhookUrl',
] as const

const selectionOf = ({ appName, appVersionName, endpointIds }: SettingRow['fields']): SelectionColumns => ({
  applicationName: appName ?? null,
  versionName: appVersionName ?? null,
  endpointIds: endpointIds ?? null,
})

const viewOf = (row: SettingRow): AlertSettingView => {
  const { id, name, description, state, uiMetadata, fields, createdAt, updatedAt } = row
  return { ...fields, ...withoutNulls({ id, name, description, state, uiMetadata, createdAt, updatedAt }) }
}
