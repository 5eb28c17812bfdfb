/** Creates, reads, changes and deletes rules, with their versions. */
import { type Ctx, nameOfCaller } from '../../../../kernel/contract.ts'
import { checkIfMatch } from '../../../../kernel/etag.ts'
import { windowOfPage } from '../../../../kernel/paging.ts'
import { NoRule, NoRuleVersion } from '../../errors.ts'
import { type RulePart, rulePartOf } from '../alert-setting-parts.ts'
import { findStatistics } from '../store/library.ts'
import { countVersions, findVersion, findVersions, insertVersion, type VersionRow } from '../store/rule-versions.ts'
import { setWriter } from '../store/writers.ts'
import type { Deps } from './deps.ts'
import * as library from './library.ts'
import { checkScript } from './scripts.ts'

export const ruleKind: library.Kind = {
  table: 'rules',
  scope: 'rule',
  resource: 'rule',
  missing: (id) => NoRule({ id }),
  counter: 'version',
  isCached: true,
}

export interface RuleFields {
  name: string
  description?: string | undefined
  expression: string
  state?: 'ENABLED' | 'DISABLED' | undefined
  uiMetadata?: string | undefined
}

export interface RuleRow extends library.Row {
  expression: string
  state: 'ENABLED' | 'DISABLED'
  uiMetadata: string | null
  version: number
  writerType: string
  writerId: string
}

export interface RuleView {
  id: string
  name: string
  description?: string
  expression: string
  state: 'ENABLED' | 'DISABLED'
  uiMetadata?: string
  statistics: library.StatisticsView
  version: number
  createdAt: Date
  updatedAt: Date
  alertSettingId?: string
  alertSettingPart?: RulePart
}

export interface RuleOperations {
  create(ctx: Ctx, fields: RuleFields): Promise<string>
  list(ctx: Ctx, query: library.ListQuery): Promise<library.Listed<RuleView>>
  read(ctx: Ctx, id: string): Promise<{ view: RuleView; etag: string }>
  update(ctx: Ctx, id: string, fields: RuleFields, ifMatch: string | undefined): Promise<void>
  delete(ctx: Ctx, id: string, ifMatch: string | undefined): Promise<void>
  listVersions(ctx: Ctx, page: { id: string; page: number; size: number }): Promise<VersionPage>
  readVersion(ctx: Ctx, version: { id: string; version: number }): Promise<VersionView>
}

export type VersionView = RuleFields & { version: number; updatedAt: Date; updatedBy: string }
type VersionPage = { totalElements: number; content: VersionView[] }

export const createRuleOperations = (deps: Deps): RuleOperations => ({
  create: (ctx, fields) => create(deps, ctx, fields),
  list: (ctx, query) => list(deps, ctx, query),
  read: (ctx, id) => read(deps, ctx, id),
  update: (ctx, id, fields, ifMatch) => update(deps, ctx, id, fields, ifMatch),
  delete: (ctx, id, ifMatch) => library.remove(deps, ctx, ruleKind, { id, ifMatch }),
  listVersions: (ctx, page) => listVersions(deps, ctx, page),
  readVersion: (ctx, version) => readVersion(deps, ctx, version),
})

const columnsOf = ({ name, description, expression, state = 'ENABLED', uiMetadata }: RuleFields) => ({
  name,
  description: description ?? null,
  expression,
  state,
  uiMetadata: uiMetadata ?? null,
})

export const writerOf = ({ caller: { subject } }: Ctx) => ({ writerType: subject.type, writerId: subject.id })
export const nameOf = ({ caller }: Ctx) => nameOfCaller(caller) ?? caller.subject.id

async function create(deps: Deps, ctx: Ctx, fields: RuleFields): Promise<string> {
  const { kit } = deps
  await checkScript(deps, ctx, 'expression', fields.expression)
  return await kit.db.tx(async (sql) => {
    const columns = columnsOf(fields)
    const id = await library.insert(deps, sql, ctx, ruleKind, { ...columns, ...writerOf(ctx) })
    await insertVersion(sql, { ruleId: id, version: 1, fields: columns, updatedBy: nameOf(ctx) })
    return id
  })
}

async function list(deps: Deps, ctx: Ctx, query: library.ListQuery) {
  return await library.list(deps, ctx, ruleKind, query, async (rows: RuleRow[]) => {
    const statistics = await findStatistics(
      deps.kit.db.sql,
      rows.map(({ id }) => id),
    )
    return rows.map((row) => viewOf(row, library.statisticsView(statistics.get(row.id))))
  })
}

async function read(deps: Deps, ctx: Ctx, id: string) {
  const { sql } = deps.kit.db
  const row = await library.requireRow<RuleRow>(sql, ctx, ruleKind, { id, verb: 'read' })
  const statistics = library.statisticsView((await findStatistics(sql, [row.id])).get(row.id))
  return { view: viewOf(row, statistics), etag: library.etagOfRow(ruleKind, row) }
}

async function update(deps: Deps, ctx: Ctx, id: string, fields: RuleFields, ifMatch: string | undefined) {
  const { kit, changes } = deps
  library.requireOwn(await library.requireRow(kit.db.sql, ctx, ruleKind, { id, verb: 'update' }))
  await checkScript(deps, ctx, 'expression', fields.expression)
  await kit.db.tx(async (sql) => {
    const row = await library.requireRow<RuleRow>(sql, ctx, ruleKind, { id, verb: 'update', lock: true })
    checkIfMatch(ifMatch, library.etagOfRow(ruleKind, row))
    const columns = columnsOf(fields)
    // A caller that writes the same text again also becomes the writer. From then on, the script runs with the permissions of this caller.
    if (await setWriter(sql, 'rules', row, writerOf(ctx))) await changes.record(sql, row.tenantId, [row.id])
    const version = await library.change(deps, sql, ruleKind, row, columns)
    if (version === undefined) return
    await insertVersion(sql, { ruleId: row.id, version, fields: columns, updatedBy: nameOf(ctx) })
  })
}

async function listVersions(deps: Deps, ctx: Ctx, page: { id: string; page: number; size: number }) {
  const { sql } = deps.kit.db
  const { id } = await library.requireRow(sql, ctx, ruleKind, { id: page.id, verb: 'read' })
  const [totalElements, rows] = await Promise.all([countVersions(sql, id), findVersions(sql, id, windowOfPage(page))])
  return { totalElements, content: rows.map(versionView) }
}

async function readVersion(deps: Deps, ctx: Ctx, version: { id: string; version: number }) {
  const { sql } = deps.kit.db
  const { id } = await library.requireRow(sql, ctx, ruleKind, { id: version.id, verb: 'read' })
  const row = await findVersion(sql, id, version.version)
  if (!row) throw NoRuleVersion(version)
  return versionView(row)
}

/** Removes the fields that are null in the database. */
export const withoutNulls = <T extends object>(row: T) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as {
    [K in keyof T]: Exclude<T[K], null>
  }

const versionView = ({ fields, ...row }: VersionRow) => ({ ...withoutNulls(fields), ...row }) as unknown as VersionView

const viewOf = (row: RuleRow, statistics: library.StatisticsView): RuleView => {
  const { id, name, description, expression, state, uiMetadata, version, createdAt, updatedAt } = row
  const fields = withoutNulls({ id, name, description, expression, state, uiMetadata, version, createdAt, updatedAt })
  const { alertSettingId } = row
  const part = alertSettingId && { alertSettingId, alertSettingPart: rulePartOf(alertSettingId, expression) }
  return { ...fields, statistics, ...part }
}
