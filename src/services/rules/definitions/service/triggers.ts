/** Creates, reads, changes and deletes triggers of all types. */
import type { Ctx } from '../../../../kernel/contract.ts'
import { checkIfMatch } from '../../../../kernel/etag.ts'
import { NoTrigger } from '../../errors.ts'
import type { TriggerType } from '../../model.ts'
import { findRulesOfTrigger } from '../store/links.ts'
import { triggerTypeDefinitions } from '../trigger-types.ts'
import type { Deps } from './deps.ts'
import * as library from './library.ts'
import { withoutNulls } from './rules.ts'
import { checkSelection, type Selection, type SelectionColumns } from './selection.ts'

export const triggerKind = (type: TriggerType): library.Kind => ({
  table: 'triggers',
  type,
  scope: `${type}-trigger`,
  resource: 'trigger',
  missing: (id) => NoTrigger({ type, id }),
  counter: 'revision',
  isCached: true,
})

export interface TriggerBody extends Selection {
  name: string
  description?: string | undefined
  uiMetadata?: string | undefined
  metadata?: Record<string, unknown> | undefined
  [field: string]: unknown
}

export interface TriggerRow extends library.Row, SelectionColumns {
  type: TriggerType
  uiMetadata: string | null
  metadata: Record<string, unknown> | null
  fields: Record<string, unknown>
  revision: number
}

export type TriggerView = Record<string, unknown>

export interface TriggerOperations {
  create(ctx: Ctx, type: TriggerType, body: TriggerBody): Promise<string>
  list(ctx: Ctx, type: TriggerType, query: library.ListQuery): Promise<library.Listed<TriggerView>>
  read(ctx: Ctx, trigger: { type: TriggerType; id: string }): Promise<{ view: TriggerView; etag: string }>
  update(
    ctx: Ctx,
    trigger: { type: TriggerType; id: string },
    body: TriggerBody,
    ifMatch: string | undefined,
  ): Promise<void>
  delete(ctx: Ctx, trigger: { type: TriggerType; id: string }, ifMatch: string | undefined): Promise<void>
}

export const createTriggerOperations = (deps: Deps): TriggerOperations => ({
  async create(ctx, type, body) {
    const columns = await columnsOf(deps, ctx, type, body)
    return await deps.kit.db.tx((sql) => library.insert(deps, sql, ctx, triggerKind(type), columns))
  },
  list: (ctx, type, query) =>
    library.list(deps, ctx, triggerKind(type), query, (rows: TriggerRow[]) => rows.map(viewOf)),
  async read(ctx, { type, id }) {
    const kind = triggerKind(type)
    const row = await library.requireRow<TriggerRow>(deps.kit.db.sql, ctx, kind, { id, verb: 'read' })
    return { view: viewOf(row), etag: library.etagOfRow(kind, row) }
  },
  async update(ctx, { type, id }, body, ifMatch) {
    const { db } = deps.kit
    const kind = triggerKind(type)
    const known = await library.requireRow<TriggerRow>(db.sql, ctx, kind, { id, verb: 'update' })
    library.requireOwn(known)
    const columns = await columnsOf(deps, ctx, type, body, known)
    await db.tx(async (sql) => {
      const row = await library.requireRow<TriggerRow>(sql, ctx, kind, { id, verb: 'update', lock: true })
      checkIfMatch(ifMatch, library.etagOfRow(kind, row))
      await library.change(deps, sql, kind, row, columns)
    })
  },
  delete: (ctx, { type, id }, ifMatch) =>
    library.remove(deps, ctx, triggerKind(type), { id, ifMatch }, (sql, row) => findRulesOfTrigger(sql, row.id)),
})

/** Checks the selection of a trigger, and returns its columns. */
async function columnsOf(deps: Deps, ctx: Ctx, type: TriggerType, body: TriggerBody, known?: SelectionColumns) {
  const definition = triggerTypeDefinitions[type]
  const inputFields: Record<string, unknown> = {}
  for (const name of Object.keys(definition.fields)) if (body[name] !== undefined) inputFields[name] = body[name]
  const fields = definition.complete?.(inputFields) ?? inputFields
  const selection = await checkSelection(deps, ctx, body, { isStandalone: definition.isStandalone, known })
  return {
    name: body.name,
    description: body.description ?? null,
    uiMetadata: body.uiMetadata ?? null,
    metadata: body.metadata ?? null,
    ...selection,
    fields,
  }
}

export const selectionView = ({ applicationName, versionName, endpointIds }: SelectionColumns) =>
  withoutNulls({ appName: applicationName, appVersionName: versionName, endpointIds })

const viewOf = (row: TriggerRow): TriggerView => {
  const { id, name, description, uiMetadata, metadata, fields, createdAt, updatedAt } = row
  const common = withoutNulls({ id, name, description, uiMetadata, metadata, createdAt, updatedAt })
  return { ...fields, ...selectionView(row), ...common }
}
